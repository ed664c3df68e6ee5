//! The class hierarchy of the link-sharing schedulers, checked once.

use super::InvalidParameter;

/// Depths of classes `0..n`.
#[derive(Clone, Debug)]
pub(super) struct ClassDepths {
    /// Ancestors of each class: 0 for a top class.
    pub(super) depths: Vec<u32>,
    /// Whether some class has it for a parent.
    pub(super) interior: Vec<bool>,
}

impl ClassDepths {
    /// Reads the parent of each class. The sum of the children's rates may exceed the parent's, as in
    /// Linux: together they may then send more than it.
    pub(super) fn new(parents: &[Option<u16>], deepest: u32) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(parents)?;
        let mut interior = vec![false; parents.len()];
        for (class, &parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                let parent = usize::from(parent);
                InvalidParameter::require(
                    parent < parents.len() && parent != class,
                    "parent",
                    || format!("must be another class, not {parent} (class {class})"),
                )?;
                interior[parent] = true;
            }
        }
        let mut depths = vec![0; parents.len()];
        for (class, depth) in depths.iter_mut().enumerate() {
            let mut at = parents[class];
            while let Some(parent) = at {
                *depth += 1;
                InvalidParameter::require(*depth <= deepest, "parent", || {
                    format!("chain is a loop or deeper than {deepest} (class {class})")
                })?;
                at = parents[usize::from(parent)];
            }
        }
        Ok(Self { depths, interior })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_count_from_the_top() {
        let tree = ClassDepths::new(&[None, Some(0), Some(1)], 8).unwrap();
        assert_eq!((tree.depths, tree.interior), (vec![0, 1, 2], vec![true, true, false]));
    }

    #[test]
    fn loops_and_strangers_are_refused() {
        let refused =
            |parents: &[Option<u16>]| ClassDepths::new(parents, 8).unwrap_err().to_string();
        assert_eq!(
            refused(&[Some(1), Some(0)]),
            "parent chain is a loop or deeper than 8 (class 0)"
        );
        assert_eq!(refused(&[Some(7)]), "parent must be another class, not 7 (class 0)");
    }
}
