//! The result of a guest: named files in memory, written at the end as one checked stream.
//!
//! The stream is `TLGUEST1`, then for each file the length of its name (u16), its name, its length
//! (u64), its bytes and their CRC-32 (u32); then a u16 of zero and the number of files (u32). All
//! numbers are little endian.

use std::io::{self, Write};

const MAGIC: &[u8; 8] = b"TLGUEST1";

/// Files by name, in the order in which they were put.
#[derive(Debug, Default)]
pub struct Archive(Vec<(String, Vec<u8>)>);

impl Archive {
    /// Puts a file.
    pub fn put(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((name.into(), bytes.into()));
    }

    /// Writes the stream.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(MAGIC)?;
        for (name, bytes) in &self.0 {
            let length = u16::try_from(name.len()).map_err(io::Error::other)?;
            to.write_all(&length.to_le_bytes())?;
            to.write_all(name.as_bytes())?;
            to.write_all(&(bytes.len() as u64).to_le_bytes())?;
            to.write_all(bytes)?;
            to.write_all(&crc32(bytes).to_le_bytes())?;
        }
        to.write_all(&0_u16.to_le_bytes())?;
        let count = u32::try_from(self.0.len()).map_err(io::Error::other)?;
        to.write_all(&count.to_le_bytes())?;
        to.flush()
    }
}

/// CRC-32 of ISO 3309, that of zip and Ethernet: reflected, polynomial 0x04C11DB7.
fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (value, entry) in (0_u32..).zip(&mut table) {
        *entry =
            (0..8).fold(value, |rest, _| (rest >> 1) ^ (0xEDB8_8320 & (rest & 1).wrapping_neg()));
    }
    !bytes
        .iter()
        .fold(!0, |rest, &byte| table[usize::from(rest.to_le_bytes()[0] ^ byte)] ^ (rest >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value that catalogues of checksums give for "123456789".
    #[test]
    fn crc32_of_the_nine_digits_is_cbf43926() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_stream_holds_length_name_bytes_checksum_and_count() {
        let mut archive = Archive::default();
        archive.put("a", *b"123456789");
        let mut stream = Vec::new();
        archive.write(&mut stream).expect("memory takes it");
        let expected =
            b"TLGUEST1\x01\0a\x09\0\0\0\0\0\0\x00123456789\x26\x39\xf4\xcb\0\0\x01\0\0\0";
        assert_eq!(stream, expected);
    }
}
