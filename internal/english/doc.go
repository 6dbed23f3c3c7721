// Package english counts things in English, and finds the word that a misspelt one meant.
package english
