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
