package munge

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

// recorded are bodies of decode answers of a real munged 0.5.15: for a valid credential, the
// same again, and a forged one.
var recorded = []string{
	"0000040500000000003c047f0000016b0589a36b0589a3000000000000000000000000ffffffff000000026869",
	"11145265706c617965642063726564656e7469616c00040500000000003c047f0000016b0589a36b0589a3000000000000000000000000ffffffff000000026869",
	"091d496e76616c69642063726564656e7469616c2076657273696f6e2030000000000000000000000000000000000000ffffffffffffffffffffffffffffffff00000000",
}

// TestRecorded reads them.
func TestRecorded(t *testing.T) {
	for i, want := range []string{"", "credential refused: Replayed credential", "credential refused: Invalid credential version 0"} {
		body, err := hex.DecodeString(recorded[i])
		if err != nil {
			t.Fatal(err)
		}
		o, err := parseOpened(body)
		if want == "" {
			if err != nil || o.Host != "127.0.0.1" || string(o.Payload) != "hi" || o.cipher != cipherAES128 || o.reader != 0 {
				t.Errorf("%+v, %v", o, err)
			}
		} else if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		for n := range body {
			if o, err := parseOpened(body[:n]); err == nil {
				t.Errorf("the first %d bytes of %d are read: %+v", n, len(body), o)
			}
		}
		if o, err := parseOpened(append(body, 0)); err == nil {
			t.Errorf("a byte too many is read: %+v", o)
		}
	}
}

// build writes the body of a decode answer.
func build(code byte, words string, cipher byte, address []byte, uid, gid, reader uint32, payload string) []byte {
	out := append([]byte{code, byte(len(words))}, words...)
	out = append(out, cipher, 5, 0, 0)
	out = binary.BigEndian.AppendUint32(out, 60)
	out = append(append(out, byte(len(address))), address...)
	for _, n := range []uint32{1, 2, uid, gid, reader, anyID, uint32(len(payload))} {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return append(out, payload...)
}

// Whatever munged answers, nothing panics, and an accepted answer has the fields of its body.
func FuzzOpened(f *testing.F) {
	f.Add(build(0, "", cipherAES128, []byte{10, 0, 0, 2}, 1001, 7, 500, "hi"))
	f.Add(build(17, "Replayed credential\x00", cipherAES128, []byte{10, 0, 0, 2}, 1001, 7, 500, "hi"))
	f.Add(build(18, "Unauthorized credential for client UID=0 GID=0\x00", 0, nil, anyID, anyID, anyID, ""))
	f.Add([]byte{})
	for _, text := range recorded {
		raw, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseOpened(body)
		if err != nil {
			shown(t, err)
			return
		}
		var address []byte
		if o.Host != "" {
			address = netip.MustParseAddr(o.Host).AsSlice()
		}
		want := build(0, "", o.cipher, address, o.UID, o.GID, o.reader, string(o.Payload))
		ids := want[len(want)-len(o.Payload)-20 : len(want)-len(o.Payload)-8] // uid, gid, reader
		at := len(body) - len(o.Payload) - 20
		if body[0] != 0 || at < 0 || !bytes.HasSuffix(body, o.Payload) || !bytes.HasPrefix(body[at:], ids) {
			t.Fatalf("%+v from %x", o, body)
		}
	})
}

func FuzzSealed(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x0cMUNGE:AAAA:\x00"))
	f.Add([]byte("\x06\x03no\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		credential, err := parseSealed(body)
		if err != nil {
			shown(t, err)
		} else if body[0] != 0 || !bytes.Contains(body, []byte(credential)) {
			t.Fatalf("%q from %x", credential, body)
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{0, 0x60, 0x6D, 0x4B, 4, 5, 0, 0, 0, 0, 9})
	f.Add([]byte("HTTP/1.1 400"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var header [headerBytes]byte
		copy(header[:], raw)
		n, err := bodyLength(header, decodeAnswer)
		if err != nil {
			shown(t, err)
		} else if again := message(decodeAnswer, header[6], make([]byte, n)); n > maxAnswer || !bytes.Equal(again[:headerBytes], header[:]) {
			t.Fatalf("%d from %x", n, header)
		}
	})
}

// shown checks that an error is safe to show on a terminal.
func shown(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); len(text) > 400 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\n\r") {
		t.Fatalf("%q", text)
	}
}
