package book

// Leading is a run of a lane; the zero value is none.
type Leading struct {
	Lane     string `json:"lane"`
	Restarts int    `json:"restarts"`
	Turn     int    `json:"turn"` // from 1, one more each time
}
