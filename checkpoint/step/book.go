package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// BookFile is the name of the book in the program's job folder.
const BookFile = "steps.json"

// Book says where the servers of tasks listen, and has their key, in a job whose fences are on the network of the site.
// In a network of the fences' own the addresses are known and no key is needed: only the job's programs are there.
type Book struct {
	Servers []string   `json:"servers"` // host:port, by node; that of the first node is not used
	Key     tunnel.Key `json:"key"`     // of the servers; that of the relays is another one
}

// maxBook bounds the file, in bytes.
const maxBook = 1 << 20

// Data is the content of the file.
func (b Book) Data() ([]byte, error) { return json.Marshal(b) }

// openBook reads the book of a job with so many nodes. Without one its servers are those of the fences' own network.
func openBook(folder string, nodes int) (servers []string, key *tunnel.Key, err error) {
	f, err := os.Open(filepath.Join(folder, BookFile))
	if errors.Is(err, os.ErrNotExist) {
		for node := range nodes {
			servers = append(servers, confine.ServerOf(node))
		}
		return servers, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBook))
	var b Book
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err == nil && len(b.Servers) < nodes {
		err = fmt.Errorf("it names %d nodes, and the job has %d", len(b.Servers), nodes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s, which says where the job's other nodes are: %w", f.Name(), err)
	}
	return b.Servers[:nodes], &b.Key, nil
}

// readKey reads a key from a file in memory, which others may read at the same time.
func readKey(file *os.File) (k tunnel.Key, err error) {
	_, err = file.ReadAt(k[:], 0)
	return k, err
}
