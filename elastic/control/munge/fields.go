package munge

import "encoding/binary"

// fields decodes a body field by field. Beyond the end of the body every field is zero, so a
// caller may read all fields without checks in between and MUST call whole at the end.
type fields struct {
	rest  []byte
	short bool // something was beyond the end
}

// take returns the next n bytes, or nil.
func (f *fields) take(n uint64) []byte {
	if f.short = f.short || n > uint64(len(f.rest)); f.short {
		return nil
	}
	out := f.rest[:n:n]
	f.rest = f.rest[n:]
	return out
}

func (f *fields) byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) number() uint32 {
	if b := f.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// piece reads a length of one byte and as many bytes.
func (f *fields) piece() []byte { return f.take(uint64(f.byte())) }

// block reads a length of four bytes and as many bytes.
func (f *fields) block() []byte { return f.take(uint64(f.number())) }

// whole reports whether the body ended with the last field.
func (f *fields) whole() bool { return !f.short && len(f.rest) == 0 }
