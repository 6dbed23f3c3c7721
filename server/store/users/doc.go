// Package users stores what belongs to a user beside scores.
//
// Privacy exports and erases what is stored about a user, and removes
// addresses after their retention.
//
// Friends stores which users are friends of each other.
//
// Profiles stores users' display names and avatars.
//
// Visibility stores who sees users on boards.
package users
