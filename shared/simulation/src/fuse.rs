//! A fuse in every call of a port: at one call it breaks, or lets somebody else act first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens at the call that a fuse is set for.
pub enum Fault {
    /// The process dies before the call has any effect: neither it nor any later call does anything.
    Death,
    /// The call fails without effect; later ones work.
    Failure,
    /// The call has its effect, and its answer is lost; later ones work.
    LostAnswer,
    /// The call has no effect and nobody can tell; later ones work. Only a commit has an answer for that, any other call fails.
    LostRequest,
    /// Somebody else acts, to the end, before the call goes on as if nothing was.
    Interruption(Box<dyn FnOnce() + Send>),
}

/// Counts the calls of one process and breaks one of them.
#[derive(Default)]
pub struct Fuse {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Vec<String>,
    faults: Vec<(When, Fault)>,
    is_dead: bool,
}

/// The call of a fault.
#[derive(Debug)]
enum When {
    /// By its number among all, from 0.
    Call(usize),
    /// By its number among those of one operation, from 0.
    Operation(&'static str, usize),
}

/// How a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// As always.
    Through,
    /// With its effect, and then as a failure.
    Answerless,
    /// Without its effect, and nobody can tell.
    Nowhere,
}

/// The call failed, and had no effect.
#[derive(Debug)]
pub(crate) struct Blown;

impl std::fmt::Debug for Fuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fuse").finish_non_exhaustive()
    }
}

impl Fuse {
    /// A fuse that never blows: it counts.
    #[must_use]
    pub fn whole() -> Arc<Self> {
        Arc::default()
    }

    /// A fuse with `fault` at call number `call`, from 0.
    #[must_use]
    pub fn at(call: usize, fault: Fault) -> Arc<Self> {
        Self::of(vec![(When::Call(call), fault)])
    }

    /// A fuse with a fault at each of these calls: operation (`catalog.commit`, `close`, …) and number among its calls, from 0.
    #[must_use]
    pub fn at_operations(faults: Vec<(&'static str, usize, Fault)>) -> Arc<Self> {
        Self::of(faults.into_iter().map(|(name, number, fault)| (When::Operation(name, number), fault)).collect())
    }

    fn of(faults: Vec<(When, Fault)>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { faults, ..State::default() }) })
    }

    /// The calls so far, in order, as `operation subject`.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// Whether every call it was set for has come.
    #[must_use]
    pub fn has_blown(&self) -> bool {
        self.lock().faults.is_empty()
    }

    pub(crate) fn enter(&self, operation: &str, subject: &str) -> Result<Pass, Blown> {
        let mut state = self.lock();
        if state.is_dead {
            return Err(Blown);
        }
        let call = state.calls.len();
        let of_operation = state.calls.iter().filter(|it| it.split(' ').next() == Some(operation)).count();
        state.calls.push(format!("{operation} {subject}"));
        let is_now = |when: &When| match when {
            When::Call(at) => *at == call,
            When::Operation(name, at) => *name == operation && *at == of_operation,
        };
        let Some(at) = state.faults.iter().position(|(when, _)| is_now(when)) else { return Ok(Pass::Through) };
        match state.faults.remove(at).1 {
            Fault::Death => {
                state.is_dead = true;
                Err(Blown)
            }
            Fault::Failure => Err(Blown),
            Fault::LostAnswer => Ok(Pass::Answerless),
            Fault::LostRequest => Ok(Pass::Nowhere),
            Fault::Interruption(action) => {
                drop(state);
                // On a thread of its own: the caller drives futures, and so does whoever acts here.
                std::thread::scope(|scope| scope.spawn(action).join().unwrap());
                Ok(Pass::Through)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_death_nothing_works() {
        let fuse = Fuse::at(1, Fault::Death);
        assert_eq!(fuse.enter("read", "a").unwrap(), Pass::Through);
        assert!(fuse.enter("read", "b").is_err());
        assert!(fuse.enter("read", "c").is_err());
        assert_eq!(fuse.calls(), ["read a", "read b"]);
    }

    #[test]
    fn after_a_failure_everything_works() {
        let fuse = Fuse::at(0, Fault::Failure);
        assert!(fuse.enter("read", "a").is_err());
        assert!(fuse.has_blown());
        assert_eq!(fuse.enter("read", "b").unwrap(), Pass::Through);
    }

    #[test]
    fn operations_are_counted_by_themselves() {
        let fuse = Fuse::at_operations(vec![("close", 1, Fault::Failure)]);
        assert!(["read", "close", "read"].iter().all(|operation| fuse.enter(operation, "a").is_ok()));
        assert!(!fuse.has_blown());
        assert!(fuse.enter("close", "a").is_err());
    }
}
