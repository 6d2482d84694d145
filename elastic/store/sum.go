package store

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
)

// rowSum returns the sum of one row: of its table's name and of all its values,
// as they are bound or as they were read, which gives the same. It is 64 bits of
// SHA-256, so that no pattern of damage goes unseen.
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
				v = 0 // SQLite knows no negative zero
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

func number(raw []byte, kind byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(raw, kind), n)
}

// piece appends a text behind its length, so that two neighbours cannot trade bytes.
func piece(raw []byte, kind byte, text string) []byte {
	return append(number(raw, kind, uint64(len(text))), text...)
}
