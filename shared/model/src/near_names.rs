//! Which known names somebody may have meant.

/// Edits between a name and one that may have been meant, at most.
const EDITS_MAX: usize = 4;
/// Names offered, at most.
const OFFERED_MAX: usize = 3;

/// The names among `known` that are close to `name` or contain it, closest first, at most three.
#[must_use]
pub fn near_names<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = known.iter().map(|known| (distance(name, known), *known)).collect();
    near.sort_unstable();
    let is_near = |(far, known): &&(usize, &str)| *far <= EDITS_MAX.min(known.len() / 2) || known.contains(name);
    near.iter().filter(is_near).map(|it| it.1).take(OFFERED_MAX).collect()
}

/// The Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut previous = i + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(b.bytes()) {
            let next = (previous + 1).min(*cell + 1).min(diagonal + usize::from(left != right));
            diagonal = std::mem::replace(cell, next);
            previous = next;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
