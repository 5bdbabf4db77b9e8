package store

import (
	"strconv"
	"strings"
)

// A profile of several shards has a journal, a cursor, an owner and a restart file for each
// shard. Each is identified by a name: the first shard has the profile's name, the others have
// their number after it, separated by a space, which a profile's name cannot contain.

// ShardName returns the name of a shard.
func ShardName(profile string, shard int) string {
	if shard == 0 {
		return profile
	}
	return profile + " " + strconv.Itoa(shard)
}

// SplitName returns the profile and the shard number of a name.
func SplitName(name string) (profile string, shard int) {
	if profile, number, ok := strings.Cut(name, " "); ok {
		if shard, err := strconv.Atoi(number); err == nil && shard > 0 {
			return profile, shard
		}
	}
	return name, 0
}
