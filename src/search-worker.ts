// A thread that indexes, or looks through passages with a regular expression (search/search-threads.ts starts it). An
// entry of its own, because a thread needs a file.
import { workerData } from 'node:worker_threads'
import { runThread } from './search/worker-tasks.ts'
import type { ThreadJob } from './search/worker-tasks.ts'

void runThread(workerData as ThreadJob)
