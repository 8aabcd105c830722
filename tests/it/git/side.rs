//! Commits beside the branch.
