package protocol

// FrontPage is the answer to GET / on the API's and on the operations address.
type FrontPage struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Version of the server; only on the operations address.
	Version string `json:"version,omitempty"`
	Links   []Link `json:"links"`
}

// Link is a path of the same address.
type Link struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}
