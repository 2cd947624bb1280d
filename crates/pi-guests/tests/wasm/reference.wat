;; An extension that does a little of everything. The first letter of a tool says which it is.
(module
  (import "pi:extension/fs@1.0.0" "read" (func $fs-read (param i32 i32 i32 i64 i32 i64 i32)))
  (import "pi:extension/fs@1.0.0" "write" (func $fs-write (param i32 i32 i32 i32 i32 i32)))
  (import "pi:extension/tool@1.0.0" "use" (func $use (param i32 i32 i32 i32 i32)))
  (import "pi:extension/exec@1.0.0" "run"
    (func $run (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i64 i32)))
  (import "pi:extension/exec@1.0.0" "start"
    (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i64 i32)))
  (import "pi:extension/streams@1.0.0" "[method]output-stream.next" (func $next (param i32 i32)))
  (import "pi:extension/streams@1.0.0" "[method]output-stream.cancel" (func $cancel (param i32)))
  (import "pi:extension/streams@1.0.0" "[resource-drop]output-stream" (func $drop-stream (param i32)))
  (import "pi:extension/log@1.0.0" "write" (func $log (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))
  (import "pi:extension/ui@1.0.0" "notify" (func $notify (param i32 i32 i32 i32)))
  (import "pi:extension/events@1.0.0" "tool-update" (func $update (param i32 i32 i32 i32 i32 i32 i32 i32)))
  (import "pi:extension/events@1.0.0" "subscribe" (func $subscribe (param i32 i32 i32)))

  (memory (export "memory") 4)
  (table $table 1 funcref)
  {data}
  (global $heap (mut i32) (i32.const {heap}))
  (global $count (mut i32) (i32.const 48))

  (func $cabi_realloc (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32)
    (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.sub (i32.add (global.get $heap) (local.get $align)) (i32.const 1))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
      (drop (memory.grow
        (i32.add (i32.const 1)
          (i32.shr_u
            (i32.sub (global.get $heap) (i32.mul (memory.size) (i32.const 65536)))
            (i32.const 16))))))
    (local.get $at))

  (func $room (param $size i32) (result i32)
    (call $cabi_realloc (i32.const 0) (i32.const 0) (i32.const 8) (local.get $size)))

  ;; The answer of a tool: a text, and whether it failed.
  (func $say (param $at i32) (param $length i32) (param $failed i32) (result i32)
    (i32.store (i32.const {text}) (local.get $at))
    (i32.store offset=4 (i32.const {text}) (local.get $length))
    (i32.store8 (i32.const {failed}) (local.get $failed))
    (i32.const {answer}))

  ;; The same for what a host call returned: bytes, or an error of which the message is said.
  (func $heard (param $result i32) (param $payload i32) (result i32)
    (local $held i32)
    (local.set $held (i32.add (local.get $result) (local.get $payload)))
    (if (result i32) (i32.load8_u (local.get $result))
      (then (call $say (i32.load offset=4 (local.get $held)) (i32.load offset=8 (local.get $held)) (i32.const 1)))
      (else (call $say (i32.load (local.get $held)) (i32.load offset=4 (local.get $held)) (i32.const 0)))))

  (func (export "pi:extension/guest@1.0.0#init") (result i32) (i32.const {init}))
  (func (export "pi:extension/guest@1.0.0#shutdown"))

  (func (export "pi:extension/guest@1.0.0#run-command")
    (param $name i32) (param $name-length i32) (param i32 i32 i32)
    (param $has-input i32) (param $input i32) (param $input-length i32) (result i32)
    (local $result i32)
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 114)) (then (return (i32.const {report}))))
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 119)) (then (return (i32.const {worry}))))
    (local.set $result (call $room (i32.const 64)))
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 101))
      (then
        (call $notify (local.get $input) (local.get $input-length) (i32.const 0) (local.get $result))
        (return (i32.const {done}))))
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 115))
      (then (call $subscribe {'news'} (local.get $result)))
      (else (call $notify {'hello'} (i32.const 0) (local.get $result))))
    (i32.const {done}))

  ;; A guard: no tool whose name begins with d.
  (func (export "pi:extension/guest@1.0.0#handle-event") (param $event i32) (result i32)
    (if (i32.ne (i32.load8_u (local.get $event)) (i32.const {tool-call})) (then (return (i32.const {go-on}))))
    (if (result i32)
      (i32.eq (i32.load8_u (i32.load offset={event} (local.get $event))) (i32.const 100))
      (then (i32.const {block}))
      (else (i32.const {go-on}))))

  ;; What a program prints, while it runs.
  (func $stream (param $program i32) (param $length-of-program i32) (param $arguments i32) (param $count i32) (result i32)
    (local $result i32) (local $stream i32) (local $buffer i32) (local $length i32) (local $piece i32)
    (local.set $result (call $room (i32.const 128)))
    (local.set $buffer (call $room (i32.const 4096)))
    (call $start (local.get $program) (local.get $length-of-program) (local.get $arguments) (local.get $count)
      (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
      (i32.const 0) (i64.const 0) (local.get $result))
    (if (i32.load8_u (local.get $result)) (then (return (call $heard (local.get $result) (i32.const 4)))))
    (local.set $stream (i32.load offset=4 (local.get $result)))
    (block $end
      (loop $more
        (call $next (local.get $stream) (local.get $result))
        (if (i32.load8_u (local.get $result))
          (then (return (call $heard (local.get $result) (i32.const {failure})))))
        (br_if $end (i32.eq (i32.load8_u offset={item} (local.get $result)) (i32.const 2)))
        (local.set $piece (i32.add (local.get $result) (i32.const {piece})))
        (memory.copy
          (i32.add (local.get $buffer) (local.get $length))
          (i32.load (local.get $piece))
          (i32.load offset=4 (local.get $piece)))
        (local.set $length (i32.add (local.get $length) (i32.load offset=4 (local.get $piece))))
        (br $more)))
    (call $drop-stream (local.get $stream))
    (call $say (local.get $buffer) (local.get $length) (i32.const 0)))

  ;; The text of the first block that a tool of somebody else answered with.
  (func $used (param $name i32) (param $length i32) (param $input i32) (param $input-length i32) (result i32)
    (local $result i32) (local $block i32)
    (local.set $result (call $room (i32.const 64)))
    (call $use (local.get $name) (local.get $length) (local.get $input) (local.get $input-length) (local.get $result))
    (if (i32.load8_u (local.get $result)) (then (return (call $heard (local.get $result) (i32.const 4)))))
    (local.set $block (i32.load offset=4 (local.get $result)))
    (call $say (i32.load offset=4 (local.get $block)) (i32.load offset=8 (local.get $block)) (i32.const 0)))

  (func $deep (param $n i32) (result i32)
    (i32.add (local.get $n) (call $deep (i32.add (local.get $n) (i32.const 1)))))

  ;; Starts a program that takes its time, takes that back, and asks for its output all the same.
  (func $kill (result i32)
    (local $result i32) (local $stream i32)
    (local.set $result (call $room (i32.const 128)))
    (call $start {'sleep'} (i32.const {long}) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
      (i32.const 0) (i64.const 0) (local.get $result))
    (local.set $stream (i32.load offset=4 (local.get $result)))
    (call $cancel (local.get $stream))
    (call $next (local.get $stream) (local.get $result))
    (call $drop-stream (local.get $stream))
    (call $heard (local.get $result) (i32.const {failure})))

  ;; Runs a program with two hundred arguments that are all the same mebibyte.
  (func $yell (result i32)
    (local $list i32) (local $text i32) (local $index i32) (local $place i32) (local $result i32)
    (local.set $result (call $room (i32.const 128)))
    (local.set $text (call $room (i32.const 1048576)))
    (memory.fill (local.get $text) (i32.const 97) (i32.const 1048576))
    (local.set $list (call $room (i32.const 1600)))
    (loop $more
      (local.set $place (i32.add (local.get $list) (i32.mul (local.get $index) (i32.const 8))))
      (i32.store (local.get $place) (local.get $text))
      (i32.store offset=4 (local.get $place) (i32.const 1048576))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $index) (i32.const 200))))
    (call $run {'true'} (local.get $list) (i32.const 200) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
      (i32.const 0) (i64.const 0) (local.get $result))
    (call $heard (local.get $result) (i32.const 4)))

  ;; Two hundred blocks that are all the same mebibyte.
  (func $giant (result i32)
    (local $list i32) (local $text i32) (local $index i32) (local $block i32)
    (local.set $text (call $room (i32.const 1048576)))
    (memory.fill (local.get $text) (i32.const 97) (i32.const 1048576))
    (local.set $list (call $room (i32.const 4000)))
    (loop $more
      (local.set $block (i32.add (local.get $list) (i32.mul (local.get $index) (i32.const 20))))
      (i32.store offset=4 (local.get $block) (local.get $text))
      (i32.store offset=8 (local.get $block) (i32.const 1048576))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $index) (i32.const 200))))
    (i32.store (i32.const {blocks}) (local.get $list))
    (i32.store offset=4 (i32.const {blocks}) (i32.const 200))
    (i32.const {many}))

  ;; A text that is too long for a model, or twelve hundred short ones.
  (func $zillion (param $parts i32) (result i32)
    (local $list i32) (local $text i32) (local $index i32) (local $block i32)
    (local.set $text (call $room (i32.const 524288)))
    (memory.fill (local.get $text) (i32.const 97) (i32.const 524288))
    (if (i32.eqz (local.get $parts))
      (then (return (call $say (local.get $text) (i32.const 524288) (i32.const 0)))))
    (local.set $list (call $room (i32.const 24000)))
    (memory.fill (local.get $list) (i32.const 0) (i32.const 24000))
    (i32.store8 (local.get $text) (i32.const 120))
    (loop $more
      (local.set $block (i32.add (local.get $list) (i32.mul (local.get $index) (i32.const 20))))
      (i32.store offset=4 (local.get $block) (local.get $text))
      (i32.store offset=8 (local.get $block) (i32.const 1))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $index) (i32.const 1200))))
    (i32.store (i32.const {blocks}) (local.get $list))
    (i32.store offset=4 (i32.const {blocks}) (i32.const 1200))
    (i32.const {many}))

  (func (export "pi:extension/guest@1.0.0#call-tool")
    (param $id i32) (param $id-length i32) (param $name i32) (param $name-length i32)
    (param $input i32) (param $input-length i32) (param i32 i32 i32) (result i32)
    (local $tool i32) (local $result i32) (local $index i32)
    (local.set $tool (i32.load8_u (local.get $name)))
    (local.set $result (call $room (i32.const 128)))
    ;; answer: its own input
    (if (i32.eq (local.get $tool) (i32.const 97))
      (then (return (call $say (local.get $input) (local.get $input-length) (i32.const 0)))))
    ;; count: how often it was asked
    (if (i32.eq (local.get $tool) (i32.const 99))
      (then
        (global.set $count (i32.add (global.get $count) (i32.const 1)))
        (i32.store8 (local.get $result) (global.get $count))
        (return (call $say (local.get $result) (i32.const 1) (i32.const 0)))))
    ;; read: a file
    (if (i32.eq (local.get $tool) (i32.const 114))
      (then
        (call $fs-read {'note.txt'} (i32.const 0) (i64.const 0) (i32.const 0) (i64.const 0) (local.get $result))
        (return (call $heard (local.get $result) (i32.const 4)))))
    ;; write: a file
    (if (i32.eq (local.get $tool) (i32.const 119))
      (then
        (call $fs-write {'made.txt'} {'made'} (i32.const 0) (local.get $result))
        (if (i32.load8_u (local.get $result)) (then (return (call $heard (local.get $result) (i32.const 4)))))
        (return (call $say {'done'} (i32.const 0)))))
    ;; execute: a program
    (if (i32.eq (local.get $tool) (i32.const 101))
      (then
        (call $run {'sh'} (i32.const {script}) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0)
          (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
          (i32.const 0) (i64.const 0) (local.get $result))
        (return (call $heard (local.get $result) (i32.const 4)))))
    ;; stream: the same, while it runs
    (if (i32.eq (local.get $tool) (i32.const 115))
      (then (return (call $stream {'sh'} (i32.const {script}) (i32.const 2)))))
    ;; meet: a program that is also a server
    (if (i32.eq (local.get $tool) (i32.const 109))
      (then (return (call $stream {'python3'} (i32.const {server}) (i32.const 1)))))
    ;; vigil: a program that takes its time
    (if (i32.eq (local.get $tool) (i32.const 118))
      (then
        (call $run {'sh'} (i32.const {vigil}) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0)
          (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)
          (i32.const 0) (i64.const 0) (local.get $result))
        (return (call $heard (local.get $result) (i32.const 4)))))
    ;; use: a tool of the host
    (if (i32.eq (local.get $tool) (i32.const 117)) (then (return (call $used {'read'} {'{"path":"note.txt"}'}))))
    ;; inquire: a tool of a server
    (if (i32.eq (local.get $tool) (i32.const 105))
      (then (return (call $used {'mcp__srv__inquire'} (local.get $input) (local.get $input-length)))))
    ;; own: one of its own tools
    (if (i32.eq (local.get $tool) (i32.const 111)) (then (return (call $used {'count'} {'{}'}))))
    ;; jumble: input that is not JSON
    (if (i32.eq (local.get $tool) (i32.const 106)) (then (return (call $used {'read'} {'{path'}))))
    ;; fail
    (if (i32.eq (local.get $tool) (i32.const 102)) (then (return (i32.const {refusal}))))
    ;; note: news of the call
    (if (i32.eq (local.get $tool) (i32.const 110))
      (then
        (drop (call $say {'half'} (i32.const 0)))
        (call $update (local.get $id) (local.get $id-length)
          (i32.load (i32.const {content})) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)
          (local.get $result))
        (return (call $say {'done'} (i32.const 0)))))
    ;; quarrel: details that are not JSON
    (if (i32.eq (local.get $tool) (i32.const 113)) (then (return (i32.const {nonsense}))))
    ;; loop
    (if (i32.eq (local.get $tool) (i32.const 108)) (then (loop $forever (br $forever))))
    ;; bomb
    (if (i32.eq (local.get $tool) (i32.const 98))
      (then (loop $forever (drop (memory.grow (i32.const 16))) (br $forever))))
    ;; xray: a table without an end
    (if (i32.eq (local.get $tool) (i32.const 120))
      (then (loop $forever (drop (table.grow $table (ref.null func) (i32.const 1000))) (br $forever))))
    ;; kill: a stream that is taken back
    (if (i32.eq (local.get $tool) (i32.const 107)) (then (return (call $kill))))
    ;; yell: a host call that hands over too much
    (if (i32.eq (local.get $tool) (i32.const 121)) (then (return (call $yell))))
    ;; deep
    (if (i32.eq (local.get $tool) (i32.const 100))
      (then (return (call $say (local.get $input) (call $deep (i32.const 0)) (i32.const 0)))))
    ;; trap
    (if (i32.eq (local.get $tool) (i32.const 116)) (then (unreachable)))
    ;; hail: a flood of host calls
    (if (i32.eq (local.get $tool) (i32.const 104))
      (then
        (loop $more
          (call $log (i32.const 1) {'flood'} {'again'} (i32.const 0) (i32.const 0) (i32.const 0)
            (local.get $result))
          (local.set $index (i32.add (local.get $index) (i32.const 1)))
          (br_if $more (i32.lt_u (local.get $index) (i32.const 2000))))
        (return (call $say {'done'} (i32.const 0)))))
    ;; giant
    (if (i32.eq (local.get $tool) (i32.const 103)) (then (return (call $giant))))
    ;; zillion: more than a model is given; in parts if there is any input
    (if (i32.eq (local.get $tool) (i32.const 122))
      (then (return (call $zillion (i32.gt_u (local.get $input-length) (i32.const 2))))))
    ;; paint: a pointer to nowhere
    (call $say (i32.const -16) (i32.const 64) (i32.const 0)))
)
