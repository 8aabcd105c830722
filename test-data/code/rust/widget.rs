//! A file with the kinds of definitions that Rust has.

use std::fmt;

/// The widest widget.
pub const WIDEST: usize = 80;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// A comment that belongs to nothing.

// ---- types ----

/// A widget.
///
/// It has a width.
#[derive(Debug, Clone)]
pub struct Widget<T> {
    pub width: usize,
    inner: T,
}

pub(crate) struct Unit;

#[derive(Debug)]
pub enum Shape {
    Round(f64),
    Square { side: f64 },
}

/// Draws.
pub trait Draw {
    type Output;
    const NAME: &'static str;

    /// Draws it.
    fn draw(&self) -> Self::Output;

    fn name(&self) -> &'static str {
        Self::NAME
    }
}

impl<T: Clone> Widget<T> {
    /// Makes one.
    pub fn new(
        width: usize,
        inner: T,
    ) -> Self
    where
        T: fmt::Debug,
    {
        Self { width, inner }
    }

    fn helper(&self) -> usize {
        fn inside(x: usize) -> usize {
            x + 1
        }
        const STEP: usize = 2;
        inside(self.width) + STEP
    }
}

impl<T> Draw for Widget<T> {
    type Output = String;
    const NAME: &'static str = "widget";

    fn draw(&self) -> String {
        "-".repeat(self.width)
    }
}

impl Draw for Unit {
    type Output = ();
    const NAME: &'static str = "unit";

    fn draw(&self) {}
}

pub mod shapes {
    pub fn draw() -> usize { 1 }

    pub mod deep {
        pub fn draw() -> usize {
            2
        }
    }
}

#[macro_export]
macro_rules! widget {
    ($width:expr) => {
        Widget::new($width, ())
    };
}

pub type Wide = Widget<u64>;

async unsafe fn later() {
    todo!()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_draws() {
        assert_eq!(Widget::new(1, ()).draw(), "-");
    }
}
