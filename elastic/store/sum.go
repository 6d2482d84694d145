package store

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
)

// rowSum returns the sum of one row: over its table's name and all its values, which are the
// same when bound and when read. It is 64 bits of SHA-256, so that no pattern of damage goes
// unnoticed.
//
// What is summed, with numbers in little-endian order:
//
//	NULL            'n'
//	INTEGER, bool   'i' and 8 bytes
//	REAL            'f' and the 8 bytes of its bits
//	TEXT            's', its length in 8 bytes, and its bytes; the table's name comes first, likewise
//
// A change of this form makes every existing store look damaged. Another type of value is an error
// of the program.
func rowSum(table string, values []any) (int64, error) {
	raw := piece(nil, 's', table)
	for _, v := range values {
		plain, err := driver.DefaultParameterConverter.ConvertValue(v)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", table, err)
		}
		switch v := plain.(type) {
		case nil:
			raw = append(raw, 'n')
		case bool: // SQLite has none
			raw = number(raw, 'i', map[bool]uint64{true: 1}[v])
		case int64:
			raw = number(raw, 'i', uint64(v))
		case float64:
			if v == 0 {
				v = 0 // SQLite has no negative zero
			}
			raw = number(raw, 'f', math.Float64bits(v))
		case string:
			raw = piece(raw, 's', v)
		default:
			return 0, fmt.Errorf("%s: a value of type %T has no sum", table, plain)
		}
	}
	full := sha256.Sum256(raw)
	return int64(binary.LittleEndian.Uint64(full[:])), nil
}

// number appends a kind and 8 bytes.
func number(raw []byte, kind byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(raw, kind), n)
}

// piece appends a text after its length, so that two neighbours cannot exchange bytes.
func piece(raw []byte, kind byte, text string) []byte {
	return append(number(raw, kind, uint64(len(text))), text...)
}
