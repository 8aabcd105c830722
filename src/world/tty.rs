//! The terminal that this process was started from. Reads and writes nothing there.

use std::io::{IsTerminal, stdin, stdout};

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

/// Tells that somebody can be asked: a process in the background would be stopped when it reads the answer.
pub fn can_ask() -> bool {
    let is_in_front = || tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
    stdin().is_terminal() && stdout().is_terminal() && is_in_front()
}
