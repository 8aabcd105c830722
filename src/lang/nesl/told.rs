//! What SHAM and NESL say of an action: errors, data and the line in the results, in the words of those dialects.

use serde_json::Value;

use crate::lang::action::Action;
use crate::lang::fault::Fault;
use crate::lang::outcome::Status;
use crate::lang::task::Call;

/// What there is to say of an action.
#[derive(Debug)]
pub struct Told {
    /// In the line of the results.
    pub message: Option<String>,
    /// In full, for `--json`.
    pub error: Option<String>,
    pub data: Value,
}

/// The same in the words of the block's dialect.
pub fn told(
    _call: &Call<'_>,
    _action: &Action<'_>,
    (_status, _fault): (Status, &Fault),
    told: Told,
) -> Told {
    told
}
