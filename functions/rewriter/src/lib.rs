//! rewriter
