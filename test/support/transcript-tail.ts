// Shows the last entries of a transcript and says how much memory it took, in kB: for measuring from outside.
//   node test/support/transcript-tail.ts <dir> <sessionId | none>
import { readFileSync } from 'node:fs'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'

const [dir = '', sessionId = ''] = process.argv.slice(2)
if (sessionId !== 'none') {
  const transcripts = new FileTranscripts({ agentId: 'main', dir })
  const { entries } = await transcripts.tail({ sessionId }, 50)
  if (entries.length !== 50) throw new Error(`${entries.length} entries instead of 50`)
}
// Not resourceUsage(): its peak counts what the parent had when it started us.
const status = readFileSync('/proc/self/status', 'utf8')
console.log(/VmHWM:\s+(\d+)/.exec(status)![1])
