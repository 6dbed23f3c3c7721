// Package config holds every setting of the daemon: its name, meaning, default
// and valid values, in one struct per component. A value comes from a flag, else
// from an environment variable, else from the file, else from the default;
// Values reports which.
//
// The setting postgres.url is the flag --postgres-url, the variable
// SCOREBOARD_POSTGRES_URL and the line "postgres.url: …" of the file.
//
// A component's file has its struct, its rows of the settings table and its
// check. Checks collect problems instead of returning the first one: Load
// reports every invalid setting at once, sorted by name.
package config
