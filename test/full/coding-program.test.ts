// The same as in the default run, with five sessions when the gateway is killed.
import '../coding-program.test.ts'
