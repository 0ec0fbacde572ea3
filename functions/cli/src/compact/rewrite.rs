//! Groups on blocking threads, a bounded number at a time.

use std::{collections::HashMap, ops::Range, sync::Arc, time::Duration};

use indicatif::ProgressBar;
use model::Plan;
use rewrite_engine::{Control, GroupOutput, Limits};
use rewriter::Source;
use tokio::task::JoinSet;

use super::Stop;
use crate::failure::chain;

/// How often the progress bar moves.
const TICK: Duration = Duration::from_millis(100);

/// What became of a group's rewrite.
pub(super) enum Fate {
    /// Its outputs exist.
    Done(GroupOutput),
    /// It failed, and left no files.
    Failed(String),
    /// It was not tried to the end, and left no files.
    Stopped,
}

/// The groups `range` of `plan`, rewritten in their order, `max-concurrent-file-group-rewrites` at a time but no more than
/// there are cores: each holds its own buffers, and a core more than one makes no group faster.
pub(super) async fn rewrite(
    plan: &Arc<Plan>,
    source: &Arc<Source>,
    range: Range<usize>,
    attempt_id: &str,
    stop: &Stop,
    bar: &ProgressBar,
) -> Vec<(usize, Fate)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = usize::try_from(plan.options.max_concurrent_file_group_rewrites).unwrap_or(cores).clamp(1, cores);
    let mut pending = range;
    let mut running = JoinSet::new();
    let mut numbers = HashMap::new();
    let mut fates = Vec::new();
    let mut tick = tokio::time::interval(TICK);
    loop {
        while running.len() < wanted && !stop.control.is_stopped() {
            let Some(at) = pending.next() else { break };
            let handle = running.spawn_blocking(job(plan, source, at, attempt_id, &stop.control));
            numbers.insert(handle.id(), at);
        }
        tokio::select! {
            _ = tick.tick() => bar.set_position(stop.control.bytes_read()),
            joined = running.join_next_with_id() => match joined {
                None => break,
                Some(Ok((id, fate))) => fates.extend(numbers.remove(&id).map(|at| (at, fate))),
                Some(Err(error)) => {
                    let fate = Fate::Failed(format!("this is a bug in firn: the rewrite broke off: {error}"));
                    fates.extend(numbers.remove(&error.id()).map(|at| (at, fate)));
                }
            },
        }
        // Without partial progress one failure is everyone's: what runs on is wasted.
        if !plan.options.partial_progress_enabled && fates.iter().any(|(_, fate)| matches!(fate, Fate::Failed(_))) {
            stop.control.stop();
        }
    }
    fates.extend(pending.map(|at| (at, Fate::Stopped)));
    fates.sort_by_key(|(at, _)| *at);
    fates
}

fn job(
    plan: &Arc<Plan>,
    source: &Arc<Source>,
    at: usize,
    attempt_id: &str,
    control: &Arc<Control>,
) -> impl FnOnce() -> Fate + Send + 'static {
    let (plan, source, control) = (Arc::clone(plan), Arc::clone(source), Arc::clone(control));
    let attempt_id = attempt_id.to_owned();
    move || {
        let Some(group) = plan.groups.get(at) else { return Fate::Stopped };
        match rewriter::rewrite(&source, &plan, group, &attempt_id, Limits::default(), &control) {
            Ok(output) => Fate::Done(output),
            Err(rewriter::Error::Rewrite(rewrite_engine::Error::Stopped)) => Fate::Stopped,
            Err(error) => Fate::Failed(chain(&error)),
        }
    }
}
