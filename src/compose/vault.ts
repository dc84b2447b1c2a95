// Constructs the vault: its folder, the optional secret that encrypts it, and the copy that other machines reach.
import { execFile } from 'node:child_process'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RockpoolError, errorText } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { readPrivateFile } from '../store/disk/private-file.ts'
import { openObjects } from '../store/objects/open-objects.ts'
import { SharedVault } from '../vault/shared-vault.ts'
import { openVault, type Vault } from '../vault/vault.ts'

/** A keyring may ask the owner to unlock it. */
const commandMs = 60_000

export async function openVaultOf(app: App): Promise<Vault> {
  const { paths, clock, log } = app
  const secret = await secretOf(app)
  return openVault({ folder: paths.vault, indexFile: paths.vaultIndex, secret, clock, log })
}

/** Undefined unless `vault.shared` names a place. */
export async function openSharedVaultOf(app: App): Promise<SharedVault | undefined> {
  const { config, paths, clock, log } = app
  const address = config.vault.shared
  if (address === undefined) return undefined
  const objects = await openObjects(address, app)
  const open = async (folder: string): Promise<Vault> => {
    const secret = await secretOf(app)
    return openVault({ folder, indexFile: join(folder, 'index.sqlite'), secret, clock, log })
  }
  return new SharedVault({
    objects,
    folder: paths.vault,
    machineName: config.machine.name ?? hostname(),
    open,
  })
}

async function secretOf({ environment, config }: App): Promise<Buffer | undefined> {
  const { keyFile, passphraseCommand } = config.vault
  if (passphraseCommand !== undefined) return printedBy(passphraseCommand)
  if (keyFile === undefined)
    return environment.vaultPassphrase ? Buffer.from(environment.vaultPassphrase) : undefined
  const key = readPrivateFile(keyFile)
  if (key) return Buffer.from(key)
  throw new RockpoolError('config-invalid', `${keyFile} (vault.keyFile) is missing or empty.`, {
    hint: 'Put the key there, for example `openssl rand -base64 32`, or remove vault.keyFile.',
  })
}

/** The output of the command, without the end of the line. The owner wrote it into the configuration, so a shell runs it. */
async function printedBy(command: string): Promise<Buffer> {
  const run = promisify(execFile)
  const { stdout } = await run('/bin/sh', ['-c', command], { timeout: commandMs }).catch((error: unknown) => {
    throw new RockpoolError('config-invalid', `vault.passphraseCommand failed: ${errorText(error)}`, {
      hint: 'Run the command in a terminal. The keyring may be locked, or the passphrase is not in it.',
      cause: error,
    })
  })
  const passphrase = stdout.replace(/\r?\n$/, '')
  if (passphrase !== '') return Buffer.from(passphrase)
  throw new RockpoolError('config-invalid', 'vault.passphraseCommand printed nothing.', {
    hint: 'Store a passphrase first: `secret-tool store --label=Rockpool service rockpool-vault`.',
  })
}
