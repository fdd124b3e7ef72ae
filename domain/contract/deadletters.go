package contract

// DeadLetterHeader marks a message that is a dead letter published again, and carries the letter's number. A service
// that moves such a message on keeps its headers, so that one that dies again is the same letter. A consumer that skips
// messages it has seen does not skip this one.
const DeadLetterHeader = "x-conveyor-dead-letter"

// DeathHeader names one death of a message: archiving that twice, as when an ack is lost, changes nothing.
const DeathHeader = "x-conveyor-death"
