//! Tamperings.
