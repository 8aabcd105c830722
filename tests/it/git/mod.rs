//! What is saved in git, through the real program, with the real `git` as the judge.

mod crash;
mod judge;
mod random;
