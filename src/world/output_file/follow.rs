//! Reads an output file as it is written: what commands write, and the results at the end. Never writes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{ROOM, RUNNING};
use crate::world::folder::if_there;

/// The most that is read at once.
const MOST: usize = 64 * 1024;
/// The length of what was read last that must still be there, or else it is another run's.
const KNOWN: usize = 256;
/// The longest results that are looked for.
const LONGEST: u64 = 4 * 1024 * 1024;
/// The lines that end the results.
const ENDS: [&str; 2] = ["=== OUTPUTS ===\n", "=== END ===\n"];

/// A text that was written since the last look.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// The output of a command, and lines about it.
    Live(Vec<u8>),
    /// The results of a run that is over.
    Results(String),
}

/// A reader of one output file.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// Up to where a run's output was read, and what was before that.
    live: Option<(u64, Vec<u8>)>,
    results: String,
}

impl Follower {
    /// Nothing is read yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            live: None,
            results: String::new(),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next piece; `None` where there is nothing new, also while the end of a run is still being written.
    ///
    /// # Errors
    /// Where it cannot be read. A file that is not there has nothing new.
    pub fn read(&mut self) -> io::Result<Option<Piece>> {
        let mut options = OpenOptions::new();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = options.read(true).custom_flags(flags).open(&self.path);
        let Some(file) = if_there(file)? else {
            return Ok(None);
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut first = [0; RUNNING.len()];
        match file.read_exact_at(&mut first, 0) {
            // Just emptied, to be filled in a moment.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        if first == *RUNNING.as_bytes() {
            self.live(&file)
        } else {
            self.results(file)
        }
    }

    fn live(&mut self, file: &File) -> io::Result<Option<Piece>> {
        let start = RUNNING.len() as u64;
        let is_at = |at: u64, before: &[u8]| {
            let mut now = vec![0; before.len()];
            let read = file.read_exact_at(&mut now, at - before.len() as u64);
            read.is_ok() && now == before
        };
        // It moves where room is made above an output that has become long.
        let found = |(at, before): (u64, Vec<u8>)| {
            let mut places = [at, at + ROOM as u64].into_iter();
            Some((places.find(|at| is_at(*at, &before))?, before))
        };
        let size = file.metadata()?.size();
        let (at, before) = match self.live.take().and_then(found) {
            Some(live) => live,
            // Of a run that is long under way the end.
            None if self.results.is_empty() => {
                (start.max(size.saturating_sub(MOST as u64)), Vec::new())
            }
            None => (start, Vec::new()),
        };
        self.results.clear();
        let mut piece = vec![0; MOST];
        let read = file.read_at(&mut piece, at)?;
        piece.truncate(read);
        let mut known = [&before[..], &piece].concat();
        known.drain(..known.len().saturating_sub(KNOWN));
        self.live = Some((at + read as u64, known));
        Ok((read > 0).then_some(Piece::Live(piece)))
    }

    fn results(&mut self, mut file: File) -> io::Result<Option<Piece>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(LONGEST).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut length = 0;
        let mut lines = text
            .split_inclusive('\n')
            .inspect(|line| length += line.len());
        if !lines.any(|line| ENDS.contains(&line)) {
            return Ok(None);
        }
        let text = text[..length].trim_end_matches(ENDS[0]).trim_end();
        if text == self.results {
            return Ok(None);
        }
        self.live = None;
        let (was, now) = (self.results.split_once('\n'), text.split_once('\n'));
        // How the copying went is put right afterwards, in the first line.
        let new = match (was, now) {
            (Some((_, was)), Some((first, now))) if was == now => first,
            _ => text,
        };
        let piece = Piece::Results(format!("{new}\n"));
        text.clone_into(&mut self.results);
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::output_file::OutputFile;
    use std::io::Write;

    const FINAL: &str = "📋\n=== CLADA RESULTS ===\n1 ✅ exec a\n=== END ===\n\n=== OUTPUTS ===\nlong\n=== END ===\n";

    fn all(follower: &mut Follower) -> (String, Vec<String>) {
        let (mut live, mut results) = (Vec::new(), Vec::new());
        while let Some(piece) = follower.read().expect("read") {
            match piece {
                Piece::Live(bytes) => live.extend(bytes),
                Piece::Results(text) => results.push(text),
            }
        }
        (String::from_utf8(live).expect("UTF-8"), results)
    }

    #[test]
    fn what_is_written_is_read_once() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        let mut follower = Follower::new(output.path().to_owned());
        let nothing = || (String::new(), Vec::new());
        assert_eq!(all(&mut follower), nothing());
        for round in 0..3 {
            output.begin(RUNNING).expect("begin");
            assert_eq!(all(&mut follower), nothing());
            let long = format!("{round}{}\n", "x".repeat(3 * MOST));
            for text in ["\n[1] exec a:\n", "same\n", "same\n", &long] {
                output.append(text.as_bytes()).expect("append");
                assert_eq!(all(&mut follower), (text.to_owned(), Vec::new()));
                assert_eq!(all(&mut follower), nothing());
            }
            let (half, rest) = FINAL.split_at(29);
            output
                .finish(|to| to.write_all(half.as_bytes()))
                .expect("finish");
            assert_eq!(all(&mut follower), nothing(), "half of it");
            let mut file = OpenOptions::new()
                .append(true)
                .open(output.path())
                .expect("open");
            file.write_all(rest.as_bytes()).expect("write");
            let (results, _) = FINAL.split_once("\n=== OUTPUTS").expect("results");
            let results = format!("{}\n", results.trim_end());
            assert_eq!(all(&mut follower), (String::new(), vec![results]));
            assert_eq!(all(&mut follower), nothing());
        }
    }

    /// The listener hopes that the copying goes well, and puts that right where it does not.
    #[test]
    fn a_first_line_that_was_put_right_is_read_alone() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        let mut follower = Follower::new(output.path().to_owned());
        let mut read = |first: &str| {
            let text = FINAL.replace("📋", first);
            output
                .finish(|to| to.write_all(text.as_bytes()))
                .expect("finish");
            all(&mut follower).1.concat()
        };
        assert!(read("📋 Copied").ends_with("1 ✅ exec a\n=== END ===\n"));
        assert_eq!(
            read("❌ Clipboard copy failed"),
            "❌ Clipboard copy failed\n"
        );
    }

    #[test]
    fn an_output_that_has_become_long_goes_on_where_it_was_read_to() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        let mut follower = Follower::new(output.path().to_owned());
        output.begin(RUNNING).expect("begin");
        output.begin_part("\n[1] exec seq:\n").expect("title");
        let first: String = (0..9999).map(|n| format!("{n}\n")).collect();
        output.append(first.as_bytes()).expect("append");
        assert!(all(&mut follower).0.ends_with("\n9998\n"));
        let long = output.lend().expect("a place");
        long.append(format!("{first}9999\n").as_bytes())
            .expect("append");
        assert_eq!(all(&mut follower).0, "9999\n");
    }

    /// A whole run between two looks: the next one's output is not taken for more of the last one's.
    #[test]
    fn another_run_is_read_from_its_beginning() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut output = OutputFile::new(dir.path().join("out"));
        let mut follower = Follower::new(output.path().to_owned());
        for text in ["first run\n", "the second run is longer\n", "short\n"] {
            output.begin(RUNNING).expect("begin");
            output.append(text.as_bytes()).expect("append");
            assert_eq!(all(&mut follower).0, text);
        }
    }
}
