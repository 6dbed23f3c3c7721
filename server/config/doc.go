// Package config holds every setting of the daemon once: its name, meaning and
// default. A value comes from a flag, else from SCOREBOARD_*, else from the
// file, else from the default, and Values says which.
//
// The setting postgres.url is the flag --postgres-url, the variable
// SCOREBOARD_POSTGRES_URL and the line "postgres.url: …" of the file.
package config
