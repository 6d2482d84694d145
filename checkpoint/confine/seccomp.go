package confine

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// Instruction is one of the kernel's classic BPF, as in struct sock_filter.
type Instruction struct {
	Code   uint16
	JT, JF uint8
	K      uint32
}

// Codes of instructions.
const (
	load    = 0x20 // the 32-bit word at K into the accumulator
	isEqual = 0x15
	anySet  = 0x45
	answer  = 0x06
)

// Offsets in struct seccomp_data. Both processors store the low half of an argument first.
const (
	atCall = 0
	atArch = 4
	atArgs = 16
)

// Answers to a call.
const (
	allow       = 0x7fff0000
	killProcess = 0x80000000
	fail        = 0x00050000 // + the error's number
	notice      = 0x7fc00000 // to the filter's listener, which answers
)

// Arguments that matter.
const (
	newListener = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER
	// newNamespaces are the flags of clone that make a namespace. CLONE_NEWTIME is none of
	// them: its bit is part of the exit signal.
	newNamespaces = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
	// terminalInput and terminalPaste write into the input of a terminal (TIOCSTI, TIOCLINUX).
	terminalInput, terminalPaste = 0x5412, 0x541C
	coreLimit                    = 4 // RLIMIT_CORE
)

// families are the kinds of sockets that exist inside: AF_UNIX, AF_INET and AF_INET6 in the
// fence's own network namespace. Of AF_NETLINK there is only NETLINK_ROUTE, which libraries
// use to list the interfaces. Others, above all AF_VSOCK, know no namespace.
var families = []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6}

// Layer is where a filter stands.
type Layer int

// The layers. If two filters of a process deny a call with the same action, the kernel follows the one
// that was installed last; an error comes before a notice. So a fence that counts has Under for all that is
// in it, and Over for all that the script starts.
const (
	// Alone: denied calls fail, and the kernel tells of none.
	Alone Layer = iota
	// Under: denied calls give a notice that has no listener. The kernel answers ENOSYS.
	Under
	// Over: denied calls give a notice to the filter's listener. No further listener can be made: it would come
	// first, and its owner could allow what is denied.
	Over
)

// Filter returns the seccomp program of a fence for a processor, named as in
// runtime.GOARCH: EPERM for what could leave the fence, EAFNOSUPPORT for other sockets,
// ENOSYS for clone3, whose flags the kernel does not show here and which libraries replace by
// clone. A call of another processor's table ends the process. With Under and Over there is a notice instead of
// the error, but for the calls of Untold.
func Filter(goarch string, l Layer) ([]Instruction, error) {
	for _, a := range archs {
		if a.name == goarch {
			return a.filter(l), nil
		}
	}
	return nil, fmt.Errorf("%w: no filter of system calls is known for the processor %s", ErrImpossible, goarch)
}

func (a arch) filter(l Layer) []Instruction {
	f := filter{arch: a, layer: l}
	f.add(load, atArch, 0, 0)
	f.add(isEqual, a.audit, 1, 0)
	f.add(answer, killProcess, 0, 0)
	f.add(load, atCall, 0, 0)
	if a.more != 0 {
		f.add(anySet, a.more, 0, 1)
		f.add(answer, killProcess, 0, 0)
	}
	for _, c := range denied {
		f.on(c, f.denies(c, syscall.EPERM))
	}
	f.on(clone3, f.denies(clone3, syscall.ENOSYS))
	if l == Over {
		f.on(seccomp, f.listener())
	}
	f.on(clone, f.test(0, anySet, newNamespaces, syscall.EPERM))
	f.on(ioctl, f.test(1, isEqual, terminalInput, syscall.EPERM), f.test(1, isEqual, terminalPaste, syscall.EPERM))
	// A handler of core dumps runs outside and is not called for the limit that the fence
	// sets (see CoreLimit); a lower one would call it.
	f.on(setrlimit, f.test(0, isEqual, coreLimit, syscall.EPERM))
	f.on(prlimit64, f.coreChange())
	f.on(socketpair, f.only(families[:1]))
	f.on(socket, f.netlink(), f.only(families))
	f.add(answer, allow, 0, 0)
	return f.code
}

// filter collects instructions. Between them the accumulator holds the call's number.
type filter struct {
	arch
	layer Layer
	code  []Instruction
}

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	f.code = append(f.code, Instruction{Code: code, JT: jt, JF: jf, K: k})
}

// on appends tests for one call; what none of them answers is allowed.
func (f *filter) on(c call, tests ...[]Instruction) {
	number := c.numbers[f.column]
	if number == none {
		return
	}
	var body []Instruction
	for _, t := range tests {
		body = append(body, t...)
	}
	if last := body[len(body)-1]; last.Code != answer || len(body) > 1 {
		body = append(body, Instruction{Code: answer, K: allow})
	}
	f.add(isEqual, uint32(number), 0, uint8(len(body)))
	f.code = append(f.code, body...)
}

// denies is result for a whole call, which may be one of Untold.
func (f *filter) denies(c call, e syscall.Errno) []Instruction {
	if Untold[c.name] != "" {
		return []Instruction{{Code: answer, K: fail | uint32(e)}}
	}
	return f.result(e)
}

func (f *filter) result(e syscall.Errno) []Instruction {
	if f.layer != Alone {
		return []Instruction{{Code: answer, K: notice}}
	}
	return []Instruction{{Code: answer, K: fail | uint32(e)}}
}

// listener fails if a filter with a listener would be installed: a flag of the second argument.
func (f *filter) listener() []Instruction {
	return f.test(1, anySet, newListener, syscall.EPERM)
}

// test fails with an error if an argument, by its number, compares so with k.
func (f *filter) test(arg int, compare uint16, k uint32, e syscall.Errno) []Instruction {
	return append([]Instruction{
		{Code: load, K: uint32(atArgs + 8*arg)},
		{Code: compare, K: k, JT: 0, JF: 1},
	}, f.result(e)...)
}

// only fails unless the first argument is one of these.
func (f *filter) only(values []uint32) []Instruction {
	code := []Instruction{{Code: load, K: atArgs}}
	for i, v := range values {
		code = append(code, Instruction{Code: isEqual, K: v, JT: uint8(len(values) - i)})
	}
	return append(code, f.result(syscall.EAFNOSUPPORT)...)
}

// netlink allows socket(AF_NETLINK, _, NETLINK_ROUTE).
func (f *filter) netlink() []Instruction {
	return []Instruction{
		{Code: load, K: atArgs},
		{Code: isEqual, K: syscall.AF_NETLINK, JF: 3},
		{Code: load, K: atArgs + 2*8},
		{Code: isEqual, K: syscall.NETLINK_ROUTE, JF: 1},
		{Code: answer, K: allow},
	}
}

// coreChange fails if prlimit64 sets RLIMIT_CORE: the third argument, a pointer, is not null.
func (f *filter) coreChange() []Instruction {
	return append([]Instruction{
		{Code: load, K: atArgs + 8},
		{Code: isEqual, K: coreLimit, JF: 5},
		{Code: load, K: atArgs + 2*8},
		{Code: isEqual, K: 0, JF: 2},
		{Code: load, K: atArgs + 2*8 + 4},
		{Code: isEqual, K: 0, JT: 1},
	}, f.result(syscall.EPERM)...)
}

// Bytes is the program in the form that bwrap reads, in the byte order of both processors.
func Bytes(program []Instruction) []byte {
	out := make([]byte, 0, 8*len(program))
	for _, i := range program {
		out = binary.LittleEndian.AppendUint16(out, i.Code)
		out = append(out, i.JT, i.JF)
		out = binary.LittleEndian.AppendUint32(out, i.K)
	}
	return out
}
