//! A file's bytes, read into memory as a whole. Knows nothing of what is in them.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::MmapMut;

/// From this size on a file is read piece by piece, into memory that the system has made ready for the piece. Memory that is
/// only made ready as it is written, a page at a time, takes longer to make than the file to read.
const LARGE: u64 = 4 * 1024 * 1024;
/// The length of a piece: the processor's cache holds it.
const PIECE: usize = 1024 * 1024;

/// The bytes of a file.
pub struct WholeFile(FileMemory);

enum FileMemory {
    Small(Vec<u8>),
    /// Memory of its own, no map of the file: whoever writes to that does not change it.
    Large(MmapMut, usize),
}

impl WholeFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Self::of(file, length)
    }

    /// Reads a file that is said to have this length.
    fn of(mut file: File, length: u64) -> io::Result<Self> {
        let room = usize::try_from(length).ok().filter(|_| length >= LARGE);
        let memory = room.and_then(|length| MmapMut::map_anon(length).ok());
        let mut bytes = Vec::new();
        if let Some(mut memory) = memory {
            let read = fill(&mut memory, &mut file)?;
            file.read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Ok(Self(FileMemory::Large(memory, read)));
            }
            // It has grown meanwhile.
            bytes.splice(..0, memory[..read].iter().copied());
        } else {
            file.read_to_end(&mut bytes)?;
        }
        Ok(Self(FileMemory::Small(bytes)))
    }
}

impl From<Vec<u8>> for WholeFile {
    fn from(bytes: Vec<u8>) -> Self {
        Self(FileMemory::Small(bytes))
    }
}

impl Deref for WholeFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            FileMemory::Small(bytes) => bytes,
            FileMemory::Large(memory, length) => &memory[..*length],
        }
    }
}

/// Fills memory from a file, as far as that goes. Returns the number of bytes.
fn fill(memory: &mut MmapMut, file: &mut File) -> io::Result<usize> {
    let mut at = 0;
    while at < memory.len() {
        let end = memory.len().min(at + PIECE);
        // Where a system has no such advice the memory is made ready as it is written.
        #[cfg(target_os = "linux")]
        let _ = memory.advise_range(memmap2::Advice::PopulateWrite, at, end - at);
        while at < end {
            match file.read(&mut memory[at..end]) {
                Ok(0) => return Ok(at),
                Ok(read) => at += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_file_is_read_whatever_length_it_is_said_to_have() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let large = LARGE as usize;
        for length in [0, 5, large - 1, large, large + 1, large + PIECE + 7] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            assert!(*WholeFile::read(&path).unwrap() == bytes, "{length}");
            for said in [0, LARGE, LARGE + 3, 2 * LARGE] {
                let file = File::open(&path).unwrap();
                let read = WholeFile::of(file, said).unwrap();
                assert!(*read == bytes, "{length}, said to be {said}");
            }
        }
        assert!(WholeFile::read(folder.path()).is_err());
    }
}
