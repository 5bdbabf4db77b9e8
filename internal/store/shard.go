package store

import (
	"strconv"
	"strings"
)

// A profile of several shards has a journal, a cursor, an owner and a restart file for
// each. They are known by a name: the first shard has that of the profile, the others
// have their number behind it. No name of a profile has a space.

// ShardName returns the name of a shard.
func ShardName(profile string, shard int) string {
	if shard == 0 {
		return profile
	}
	return profile + " " + strconv.Itoa(shard)
}

// SplitName returns the profile and the number of a shard by its name.
func SplitName(name string) (profile string, shard int) {
	if profile, number, ok := strings.Cut(name, " "); ok {
		if shard, err := strconv.Atoi(number); err == nil && shard > 0 {
			return profile, shard
		}
	}
	return name, 0
}
