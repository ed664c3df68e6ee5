//! Results as columns: the output of the engine.

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers; -1 where a value does not apply.
    I64(Vec<i64>),
    /// Real numbers; NaN where a value does not apply.
    F64(Vec<f64>),
}

impl Column {
    /// Name of the element type.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::I64(_) => "i64",
            Self::F64(_) => "f64",
        }
    }

    /// Name of the element type, and the values as little-endian bytes.
    #[must_use]
    pub fn bytes(&self) -> (&'static str, Vec<u8>) {
        let bytes = match self {
            Self::I64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        (self.kind(), bytes)
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table of columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Columns by name, in order.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, columns: Vec::new() }
    }

    /// Adds a column of integers.
    #[must_use]
    pub fn ints(mut self, name: &'static str, values: impl IntoIterator<Item = i64>) -> Self {
        self.columns.push((name, Column::I64(values.into_iter().collect())));
        self
    }

    /// Adds a column of real numbers.
    #[must_use]
    pub fn floats(mut self, name: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        self.columns.push((name, Column::F64(values.into_iter().collect())));
        self
    }

    /// The integers of a column.
    ///
    /// # Panics
    /// If there is no such column of integers.
    #[must_use]
    pub fn int(&self, name: &str) -> &[i64] {
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::I64(values))) => values,
            _ => panic!("table {} has no whole-number column {name}", self.name),
        }
    }

    /// The real numbers of a column.
    ///
    /// # Panics
    /// If there is no such column of real numbers.
    #[must_use]
    pub fn float(&self, name: &str) -> &[f64] {
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::F64(values))) => values,
            _ => panic!("table {} has no real-number column {name}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two's complement and IEEE 754, the least byte first.
    #[test]
    fn a_column_is_its_values_in_little_endian_bytes() {
        let table = Table::new("t").ints("whole", [1, -2]).floats("real", [1.0]).ints("none", []);
        let [whole, real, none] = [0, 1, 2].map(|place| &table.columns[place].1);
        let bytes = [&[1, 0, 0, 0, 0, 0, 0, 0, 0xfe][..], &[0xff; 7]].concat();
        assert_eq!((whole.bytes(), whole.kind()), (("i64", bytes), "i64"));
        let bytes = vec![0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        assert_eq!((real.bytes(), real.kind()), (("f64", bytes), "f64"));
        assert_eq!([whole, real, none].map(Column::len), [2, 1, 0]);
        assert_eq!([whole, real, none].map(Column::is_empty), [false, false, true]);
        assert_eq!((table.int("whole"), table.float("real")), (&[1, -2][..], &[1.0][..]));
    }
}
