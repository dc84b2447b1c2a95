// A thread that keeps sessions in the vault (vault/keep-thread.ts starts it). An entry of its own, because a thread needs a file.
import { workerData } from 'node:worker_threads'
import { runKeepThread, type KeepJob } from './vault/keep-thread.ts'
import { openVault } from './vault/vault.ts'

void runKeepThread(workerData as KeepJob, openVault)
