//! The class hierarchy of the link-sharing schedulers, checked once.

use super::Invalid;

/// Parent and guaranteed rate of a class [bit/s].
pub(super) type Member = (Option<u16>, u64);

/// Depths of classes `0..n`.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Ancestors of each class: 0 for a top class.
    pub(super) depths: Vec<u32>,
    /// Whether some class has it for a parent.
    pub(super) interior: Vec<bool>,
}

impl Tree {
    /// Reads `parent` of each class, and checks that no child is promised more than its parent.
    pub(super) fn new(members: &[Member], deepest: u32) -> Result<Self, Invalid> {
        super::at_least_one_class(members)?;
        let parents: Vec<_> = members.iter().map(|member| member.0).collect();
        let mut interior = vec![false; members.len()];
        for (class, &parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                let parent = usize::from(parent);
                Invalid::unless(parent < members.len() && parent != class, "parent", || {
                    format!("must be another class, not {parent} (class {class})")
                })?;
                interior[parent] = true;
            }
        }
        let mut depths = vec![0; members.len()];
        for (class, depth) in depths.iter_mut().enumerate() {
            let mut at = parents[class];
            while let Some(parent) = at {
                *depth += 1;
                Invalid::unless(*depth <= deepest, "parent", || {
                    format!("chain is a loop or deeper than {deepest} (class {class})")
                })?;
                at = parents[usize::from(parent)];
            }
        }
        let mut promised = vec![0u64; members.len()];
        for &(parent, rate_bit_s) in members {
            if let Some(parent) = parent {
                let sum = &mut promised[usize::from(parent)];
                *sum = sum.saturating_add(rate_bit_s);
            }
        }
        for (class, &(_, own)) in members.iter().enumerate() {
            let sum = promised[class];
            Invalid::unless(sum <= own, "rate_bit_s", || {
                format!("of the children of class {class} is {sum} in sum, above its own {own}")
            })?;
        }
        Ok(Self { depths, interior })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_count_from_the_top() {
        let tree = Tree::new(&[(None, 9), (Some(0), 9), (Some(1), 9)], 8).unwrap();
        assert_eq!((tree.depths, tree.interior), (vec![0, 1, 2], vec![true, true, false]));
    }

    #[test]
    fn loops_strangers_and_children_above_their_parent_are_refused() {
        let refused = |members: &[Member]| Tree::new(members, 8).unwrap_err().to_string();
        assert_eq!(
            refused(&[(Some(1), 1), (Some(0), 1)]),
            "parent chain is a loop or deeper than 8 (class 0)"
        );
        assert_eq!(refused(&[(Some(7), 1)]), "parent must be another class, not 7 (class 0)");
        assert_eq!(
            refused(&[(None, 10), (Some(0), 6), (Some(0), 5)]),
            "rate_bit_s of the children of class 0 is 11 in sum, above its own 10"
        );
    }
}
