;; An extension with one tool that makes one host call, and answers with all of its memory for others to read.
(module
  IMPORT
  (memory (export "memory") 4)
  {data}
  (global $heap (mut i32) (i32.const {heap}))

  (func $cabi_realloc (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32)
    (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.sub (i32.add (global.get $heap) (local.get $align)) (i32.const 1))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  (func (export "pi:extension/guest@1.0.0#init") (result i32) (i32.const {init}))
  (func (export "pi:extension/guest@1.0.0#shutdown"))
  (func (export "pi:extension/guest@1.0.0#handle-event") (param $event i32) (result i32) (i32.const {go-on}))
  (func (export "pi:extension/guest@1.0.0#run-command")
    (param $name i32) (param $name-length i32) (param i32 i32 i32) (param i32 i32 i32) (result i32)
    CALL
    (i32.const {done}))
  (func (export "pi:extension/guest@1.0.0#call-tool")
    (param $id i32) (param $id-length i32) (param $name i32) (param $name-length i32)
    (param $input i32) (param $input-length i32) (param i32 i32 i32) (result i32)
    CALL
    (i32.store (i32.const {memory}) (i32.const 0))
    (i32.store offset=4 (i32.const {memory}) (i32.const 262144))
    (i32.const {answer}))
)
