;; An extension with two tools: `hello` answers, `ask` asks its host for a variable a hundred times before that.
(module
  (import "pi:extension/env@1.0.0" "get" (func $get (param i32 i32 i32)))

  (memory (export "memory") 1)
  {data}
  (global $heap (mut i32) (i32.const {heap}))

  ;; What was handed over is forgotten with the call.
  (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.sub (i32.add (global.get $heap) (local.get $align)) (i32.const 1))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  (func (export "pi:extension/guest@1.0.0#init") (result i32) (i32.const {init}))
  (func (export "pi:extension/guest@1.0.0#shutdown"))
  (func (export "pi:extension/guest@1.0.0#run-command") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (unreachable))
  (func (export "pi:extension/guest@1.0.0#handle-event") (param i32) (result i32) (unreachable))

  (func (export "pi:extension/guest@1.0.0#call-tool")
    (param $id i32) (param $id-length i32) (param $name i32) (param $name-length i32) (param i32 i32 i32 i32 i32)
    (result i32)
    (local $mark i32) (local $count i32)
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 97))
      (then
        (local.set $mark (global.get $heap))
        (loop $more
          (global.set $heap (local.get $mark))
          (call $get {'HOME'} (i32.const {returned}))
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $count) (i32.const {asks}))))))
    (global.set $heap (i32.const {heap}))
    (i32.const {answer}))
)
