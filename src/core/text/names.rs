//! Finds the known name that a misspelt one was meant to be.

/// The number of typing mistakes between two names: letters that were added, left out, replaced, or swapped with the next.
pub fn typos(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

/// The known name with the fewest typing mistakes in it; the first of several.
pub fn nearest_name<S: AsRef<str>>(
    misspelt: &str,
    known: impl IntoIterator<Item = S>,
) -> Option<S> {
    let known = known.into_iter();
    known.min_by_key(|name| typos(name.as_ref(), misspelt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_mistakes_decide_and_then_the_order() {
        assert_eq!(nearest_name("eidt", ["exec", "edit"]), Some("edit"));
        assert_eq!(nearest_name("ab", ["ac", "bb"]), Some("ac"));
        assert_eq!(nearest_name::<&str>("ab", []), None);
    }
}
