package profile

// goodbye lets a player go; the answer is the ACK alone, also for a token that
// is not here. His board is free for others at once, unless he has an identity.
func (p *Profile) goodbye(r *request, out *Output) verdict {
	if r.player != nil {
		p.dismiss(r.player, out)
	}
	return done
}
