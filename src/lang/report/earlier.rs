//! Results that were written before and could not be read yet, as they stand below newer ones.

use serde::{Deserialize, Serialize};

/// Older results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// When they were written, as it is shown.
    pub time: String,
    /// The lines between the markers of their block.
    pub lines: String,
    /// Their outputs, as they stood in their own packet.
    pub outputs: String,
}

impl Earlier {
    /// The line above them.
    pub fn title(&self) -> String {
        format!("--- {} ---\n", self.time)
    }
}
