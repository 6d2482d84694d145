package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// checkHeader checks the first bytes of the file BEFORE SQLite reads them: for some damage
// there SQLite's error would not say so. A file whose very first write was cut short, which
// SQLite is about to restore from its rollback journal, is left to SQLite.
//
//	bytes 0 to 15    the name of the format
//	16, 17           the size of a page
//	18, 19           versions for writing and reading: 1 or 2
//	20               bytes reserved at the end of each page: SQLite's default is none
//	21 to 23         64, 32, 32: fixed by the format
func checkHeader(path string) error {
	if info, err := os.Stat(path + "-journal"); err == nil && info.Size() > 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return explain("check", path, err)
	}
	defer f.Close()
	head := make([]byte, 100)
	switch n, err := io.ReadFull(f, head); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil // a new one
	case errors.Is(err, io.ErrUnexpectedEOF):
		return explain("check", path, damaged(sortHeader, "the file is cut off after %d bytes", n))
	case err != nil:
		return explain("check", path, err)
	}
	// See https://www.sqlite.org/fileformat.html#the_database_header. The page size is a power of
	// two from 512; 1 means 65536.
	size := binary.BigEndian.Uint16(head[16:])
	mode := func(b byte) bool { return b == 1 || b == 2 } // with a rollback journal, with a log
	if string(head[:16]) != "SQLite format 3\x00" || size&(size-1) != 0 || size != 1 && size < 512 || !mode(head[18]) || !mode(head[19]) ||
		head[20] != 0 || head[21] != 64 || head[22] != 32 || head[23] != 32 {
		return explain("check", path, damaged(sortHeader, "its first bytes are not those of a database"))
	}
	return nil
}

// checkPages asks SQLite whether its own structures are valid, indexes included. It reads the whole
// file, and stops at the first error. It is also where a file system without shared memory shows,
// on which SQLite does not use its log: that is ErrForeign, and no fault of the file.
func checkPages(ctx context.Context, db *sql.DB, path string) error {
	var verdict, mode string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return suspect("check", path, sortPages, err)
	}
	if verdict != "ok" {
		return explain("check", path, damaged(sortPages, "%s", verdict))
	}
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return suspect("check", path, sortPages, err)
	}
	if mode != "wal" {
		return &Error{Op: "check", Path: path, Err: ErrForeign, Text: "SQLite cannot use its write-ahead log here",
			Hint: "put [paths] state on a local disk"}
	}
	return nil
}

// checkRows compares tables and indexes with the result of the migrations, and every row with its
// sum. Without its index for open moves, for example, the store would accept two moves of one job.
// It MUST come AFTER migrate. Differences are ErrCorrupt.
func checkRows(ctx context.Context, db *sql.DB, path string) error {
	want, err := blueprint()
	if err != nil {
		return err
	}
	got, err := objects(ctx, db)
	if err != nil {
		return suspect("check", path, sortSchema, err)
	}
	for name, text := range want {
		if got[name] != text {
			return explain("check", path, damaged(sortSchema, "%s is not as sluice made it", name))
		}
	}
	return suspect("check", path, sortRows, verify(ctx, db, tables))
}

// blueprint returns the tables and indexes of a new store. It runs the migrations in memory, once
// per process: so no second description of the schema has to be kept equal to them. Callers MUST
// NOT change the map.
var blueprint = sync.OnceValues(func() (map[string]string, error) {
	steps, err := scripts()
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // every connection has its own memory
	ctx := context.Background()
	if err := apply(ctx, db, steps, 0); err != nil {
		return nil, fmt.Errorf("the migrations do not run: %w", err)
	}
	return objects(ctx, db)
})

// objects returns the text of every table and index by kind and name. Additions of an
// administrator, an index or statistics, are allowed. SQLite keeps the text as it was executed, so
// that equal migrations give equal texts.
func objects(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT type || ' ' || name, tbl_name || ': ' || ifnull(sql, '') FROM sqlite_master")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, rows.Err()
}
