"""The deployment controller: rollouts, their arithmetic, their status."""
