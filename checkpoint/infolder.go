package checkpoint

import "io/fs"

// ReadIn returns a file of a folder, of at most most bytes. It opens the folder and calls Dir.Read.
func ReadIn(folder, name string, most int64) ([]byte, error) {
	dir, err := OpenDir(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Read(name, most)
}

// WriteIn replaces a file of a folder. It opens the folder and calls Dir.Write.
func WriteIn(folder, name string, data []byte, perm fs.FileMode) error {
	dir, err := OpenDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(name, data, perm)
}
