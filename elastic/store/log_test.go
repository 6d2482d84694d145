package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

var salt = []byte("saltsalt")

// logOf makes a write-ahead log of so many pages; change may spoil the header's first 24 bytes
// before they are summed.
func logOf(order binary.ByteOrder, size, pages int, change func(header []byte)) []byte {
	big := binary.BigEndian
	out := big.AppendUint32(nil, 0x377f0682)
	if order == big {
		out[3] |= 1
	}
	out = big.AppendUint32(out, walFormat)
	out = big.AppendUint32(out, uint32(size))
	out = append(big.AppendUint32(out, 0), salt...)
	if change != nil {
		change(out)
	}
	a, b := logSum(order, out, 0, 0)
	out = big.AppendUint32(big.AppendUint32(out, a), b)
	for n := range pages {
		frame := big.AppendUint32(big.AppendUint32(nil, uint32(n+1)), uint32(n+1))
		page := bytes.Repeat([]byte{byte(n + 1)}, size)
		a, b = logSum(order, frame, a, b)
		a, b = logSum(order, page, a, b)
		frame = big.AppendUint32(big.AppendUint32(append(frame, salt...), a), b)
		out = append(append(out, frame...), page...)
	}
	return out
}

// TestLogAgainstItsIndex: the log holds each page that its index says was acknowledged, or it
// is said which is the first that it does not.
func TestLogAgainstItsIndex(t *testing.T) {
	little, big := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	const cut, header = "the write-ahead log is cut off; it had 2 pages", "the write-ahead log's header does not match its sum; it had 2 pages"
	good := logOf(little, 512, 3, nil)
	spoilt := func(at int) []byte {
		raw := bytes.Clone(good)
		raw[at]++
		return raw
	}
	at := func(frame, byte int) int { return logHeader + frame*(frameHeader+512) + byte }
	off := func(n int) string { return fmt.Sprintf("the write-ahead log is cut off at page %d of 2", n) }
	wrong := func(n int) string {
		return fmt.Sprintf("page %d of 2 in the write-ahead log does not match its sum", n)
	}
	for name, c := range map[string]struct {
		log  []byte
		want string // "": it holds them
	}{
		"as it is": {good, ""}, "the other order": {logOf(big, 512, 3, nil), ""}, "no more than claimed": {logOf(little, 512, 2, nil), ""}, "pages of 64 KiB": {logOf(little, 65536, 2, nil), ""},
		"nothing": {nil, cut}, "half a header": {good[:31], cut}, "a header alone": {good[:32], off(1)}, "one byte of a page": {good[:33], off(1)}, "one page": {good[:at(1, 0)], off(2)}, "a page less a byte": {good[:at(2, -1)], off(2)},
		"too small pages": {logOf(little, 256, 2, nil), header}, "too large pages": {logOf(little, 65536+8, 2, nil), header},
		"no log":         {logOf(little, 512, 2, func(h []byte) { h[0]++ }), header},
		"another format": {logOf(little, 512, 2, func(h []byte) { h[7]++ }), header},
		"the first sum":  {spoilt(24), header}, "the second sum": {spoilt(28), header}, "the change counter": {spoilt(12), header},
		"an earlier log": {logOf(little, 512, 0, func(h []byte) { h[16]++ }), ""}, "another earlier log": {logOf(little, 512, 0, func(h []byte) { h[23]++ }), ""},
		"page 1, its number": {spoilt(at(0, 0)), wrong(1)}, "page 1, its size": {spoilt(at(0, 7)), wrong(1)}, "page 1, its salt": {spoilt(at(0, 8)), wrong(1)}, "page 1, the salt's end": {spoilt(at(0, 15)), wrong(1)},
		"page 1, its first sum": {spoilt(at(0, 16)), wrong(1)}, "page 1, its second sum": {spoilt(at(0, 20)), wrong(1)}, "page 1, its first byte": {spoilt(at(0, 24)), wrong(1)}, "page 1, its last byte": {spoilt(at(1, -1)), wrong(1)},
		"page 2, its salt": {spoilt(at(1, 8)), wrong(2)}, "page 2, its second sum": {spoilt(at(1, 20)), wrong(2)}, "page 2, its last byte": {spoilt(at(2, -1)), wrong(2)},
		"page 3, beyond those of the index": {spoilt(at(2, 20)), ""},
	} {
		err := index{frames: 2, salt: salt}.holds(bytes.NewReader(c.log))
		if got := (*Error)(nil); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &got) || !errors.Is(err, ErrCorrupt) || sortOf(err) != sortLog || got.Text != c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for n := range []int{0, logHeader, at(1, 0)} { // the disk fails: that is said, too
		err := index{frames: 2, salt: salt}.holds(io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(syscall.EIO)))
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// TestWhatTheIndexClaims: an index that is torn, or of another form, claims nothing; what the
// system says is an error.
func TestWhatTheIndexClaims(t *testing.T) {
	native := binary.NativeEndian
	indexOf := func(frames, filled uint32, change func(raw []byte)) []byte {
		one := make([]byte, 40)
		native.PutUint32(one, walFormat)
		one[12] = 1
		native.PutUint32(one[16:], frames)
		copy(one[32:], salt)
		if change != nil {
			change(one)
		}
		a, b := logSum(native, one, 0, 0)
		one = native.AppendUint32(native.AppendUint32(one, a), b)
		return native.AppendUint32(append(one, one...), filled)
	}
	good := indexOf(7, 4, nil)
	spoilt := func(at ...int) []byte {
		raw := bytes.Clone(good)
		for _, i := range at {
			raw[i]++
		}
		return raw
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		raw []byte
		ok  bool
	}{
		"as it is": {good, true}, "longer": {append(bytes.Clone(good), 1, 2), true}, "a byte less": {good[:99], false}, "nothing": {nil, false},
		"the copies differ": {spoilt(20), false}, "the other does": {spoilt(20 + indexSize), false}, "both spoilt": {spoilt(20, 20+indexSize), false}, "the first sum": {spoilt(40, 40+indexSize), false}, "the second": {spoilt(44, 44+indexSize), false},
		"another format": {indexOf(7, 4, func(raw []byte) { raw[0]++ }), false}, "not yet written": {indexOf(7, 4, func(raw []byte) { raw[12] = 0 }), false}, "no pages": {indexOf(0, 0, nil), false}, "one page": {indexOf(1, 0, nil), true},
	} {
		path := filepath.Join(dir, "index")
		if err := os.WriteFile(path, c.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		x, ok, err := readIndex(path)
		if err != nil || ok != c.ok || ok && name != "one page" && (x.frames != 7 || x.filled != 4 || !bytes.Equal(x.salt, salt)) {
			t.Errorf("%s: %+v, %t, %v", name, x, ok, err)
		}
	}
	if _, ok, err := readIndex(filepath.Join(dir, "gone")); ok || err != nil {
		t.Errorf("gone: %t, %v", ok, err)
	}
	if _, ok, err := readIndex(dir); ok || !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %t, %v", ok, err)
	}
	loop := filepath.Join(dir, "loop")
	for _, end := range []string{"-shm", "-wal"} {
		if err := os.Symlink(filepath.Base(loop)+end, loop+end); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := readIndex(loop + "-shm"); ok || !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a file that cannot be opened: %t, %v", ok, err)
	}
	if err := (index{frames: 1}).check(loop); !errors.Is(err, syscall.ELOOP) || errors.Is(err, ErrCorrupt) {
		t.Errorf("a log that cannot be opened: %v", err)
	}
	for filled, want := range map[uint32]string{4: "with 3 pages that were not in the database yet", 6: "with 1 pages", 7: ""} {
		err := index{frames: 7, filled: filled}.check(filepath.Join(dir, "gone"))
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d of 7 pages are in the database, and the log is gone: %v", filled, err)
		}
	}
}

// TestSameClaim: an index is the same only if nothing in it has moved on.
func TestSameClaim(t *testing.T) {
	was := index{frames: 7, filled: 4, salt: salt}
	for _, c := range []struct {
		now  index
		same bool
	}{
		{index{7, 4, bytes.Clone(salt)}, true}, {index{8, 4, salt}, false}, {index{7, 5, salt}, false}, {index{8, 5, salt}, false}, {index{7, 4, []byte("otherone")}, false}, {index{7, 4, nil}, false},
	} {
		if was.same(c.now) != c.same || c.now.same(was) != c.same {
			t.Errorf("%+v is the same as %+v: %t", c.now, was, !c.same)
		}
	}
}
