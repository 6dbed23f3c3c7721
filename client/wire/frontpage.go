package wire

// FrontPage is the answer to GET / on the API's and on the operations address.
type FrontPage struct {
	Name        string `json:"name"`        // name of the program
	Description string `json:"description"` // what it is, in words
	// Version of the server; only on the operations address.
	Version string `json:"version,omitempty"`
	Links   []Link `json:"links"` // where to go on
}

// Link is a path of the same address.
type Link struct {
	Path        string `json:"path"`        // path on this address, which begins with a slash
	Description string `json:"description"` // what is there, in words
}
