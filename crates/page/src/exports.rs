//! The interface to the page's script. The script writes bytes to the input, calls a function, and
//! reads the output; both are buffers of this module, so that no pointer from outside is followed.

// The attribute that exports a name is the only `unsafe` of this crate: two functions of one name would
// be linked as one. The names begin with `srnn_page_`, and no other crate exports names.
#![allow(unsafe_code)]

use crate::{PageFile, PageFiles};
use serde_json::{Value, json};
use std::cell::RefCell;

/// The buffers and the loaded files. WebAssembly of a page has one thread.
#[derive(Default)]
struct PageModule {
    input: Vec<u8>,
    output: Vec<u8>,
    files: PageFiles,
}

thread_local! {
    static MODULE: RefCell<PageModule> = RefCell::default();
}

/// Makes room for `length` bytes of input, and returns where the script writes them.
// SAFETY: the exported name is unique in this crate, and its dependencies export none.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_input(length: usize) -> *mut u8 {
    MODULE.with_borrow_mut(|module| {
        module.input.clear();
        module.input.resize(length, 0);
        module.input.as_mut_ptr()
    })
}

/// Takes the input as a file of the run; its number is that of [`PageFile::of_number`].
// SAFETY: as for `srnn_page_input`.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_load(file: u32) {
    respond(|files, input| {
        let file = PageFile::of_number(file).ok_or("there is no such file")?;
        files.load(file, input).map(|()| Value::Null)
    });
}

/// Steps the word in the input: numbers of symbols, four bytes each, the lowest first.
// SAFETY: as for `srnn_page_input`.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_step() {
    respond(|files, input| {
        let numbers = input.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        files.step(&numbers.collect::<Vec<_>>())
    });
}

/// Checks the certificate.
// SAFETY: as for `srnn_page_input`.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_check() {
    respond(|files, _| files.check());
}

/// Where the output is: JSON, an object with `ok` or with `error`.
// SAFETY: as for `srnn_page_input`.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_output() -> *const u8 {
    MODULE.with_borrow(|module| module.output.as_ptr())
}

/// The length of the output in bytes.
// SAFETY: as for `srnn_page_input`.
#[unsafe(no_mangle)]
pub extern "C" fn srnn_page_output_length() -> usize {
    MODULE.with_borrow(|module| module.output.len())
}

/// Gives the input to `answer`, and makes its result the output.
fn respond(answer: impl FnOnce(&mut PageFiles, Vec<u8>) -> Result<Value, String>) {
    MODULE.with_borrow_mut(|module| {
        let input = std::mem::take(&mut module.input);
        let value = match answer(&mut module.files, input) {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error }),
        };
        module.output = value.to_string().into_bytes();
    });
}
