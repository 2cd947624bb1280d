//! Parts that tests share.
