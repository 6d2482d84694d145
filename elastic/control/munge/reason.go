package munge

import "bytes"

// reasons are munged's errors by number (munge.h), in libmunge's words.
var reasons = [...]string{
	1: "Internal error", 2: "Invalid argument", 3: "Exceeded maximum message length", 4: "Buffer overflow",
	5: "Out of memory", 6: "Socket communication error", 7: "Socket timeout",
	8: "Invalid credential format", 9: "Invalid credential version", 10: "Invalid cipher type", 11: "Invalid MAC type",
	12: "Invalid compression type", 13: "Unrecognized security realm",
	14: "Invalid credential", 15: "Expired credential", 16: "Rewound credential", 17: "Replayed credential", 18: "Unauthorized credential",
}

// cause separates munged's errors about itself from those about the credential. Its "internal
// error" is of the latter kind: a truncated forged credential gets it.
func cause(code byte) error {
	switch code {
	case 5, 6, 7:
		return ErrMissing
	}
	return ErrRefused
}

// complaint returns why munged refuses, in its own words if it gave any.
func complaint(code byte, said []byte) string {
	said, _, _ = bytes.Cut(said, []byte{0})
	switch {
	case len(said) > 0:
		return words(said)
	case int(code) < len(reasons):
		return reasons[code]
	}
	return "Unknown error"
}

// words returns the text cut to a safe length, with printable characters only.
func words(said []byte) string {
	out := bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, said)
	return string(out[:min(len(out), 200)])
}
