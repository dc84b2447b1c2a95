// A thread that indexes, or looks through passages with a regular expression (memory/search-thread.ts starts it). An
// entry of its own, because a thread needs a file.
import { workerData } from 'node:worker_threads'
import { runThread } from './memory/thread-work.ts'
import type { ThreadJob } from './memory/thread-work.ts'

void runThread(workerData as ThreadJob)
