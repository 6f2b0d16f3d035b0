//! Function names as a person writes them: C++ without decoration, arguments and return type, 32-bit C without
//! the marks of its calling convention. Called for every name that comes out of a PDB or an export table.

use msvc_demangler::DemangleFlags;

use super::contain::contain;

/// Longest decorated name that is taken apart; the parser recurses, and longer ones stay as they are.
const DECORATED_BYTES_MAX: usize = 2048;
/// Longest name that is stored; compilers cut at 4095.
const NAME_CHARS_MAX: usize = 4096;

/// The name to show for a linker symbol. `x86` says that the image is 32-bit, where C names are decorated too.
pub(super) fn undecorate(symbol: &str, x86: bool) -> String {
    if symbol.starts_with('?') && symbol.len() <= DECORATED_BYTES_MAX {
        let flags = DemangleFlags::NAME_ONLY;
        if let Ok(Ok(name)) = contain(|| msvc_demangler::demangle(symbol, flags)) {
            return printable(&name);
        }
    }
    printable(plain_c(symbol, x86))
}

/// `_name`, `_name@12` and `@name@8` of 32-bit code, and `name@@16` of vectorcall anywhere.
fn plain_c(symbol: &str, x86: bool) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((name, bytes)) = symbol.rsplit_once("@@")
        && !name.is_empty()
        && digits(bytes)
    {
        return name;
    }
    if !x86 {
        return symbol;
    }
    let body = symbol.strip_prefix(['_', '@']).unwrap_or(symbol);
    match body.rsplit_once('@') {
        Some((name, bytes)) if !name.is_empty() && digits(bytes) => name,
        _ if body.is_empty() => symbol,
        _ => body,
    }
}

/// Names reach terminals and files; control characters in a hostile one must not.
pub(super) fn printable(name: &str) -> String {
    name.chars()
        .take(NAME_CHARS_MAX)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_decoration() {
        for (symbol, x86, name) in [
            ("KeSetEvent", false, "KeSetEvent"),
            ("_NLG_Return", false, "_NLG_Return"),
            ("_lua_call", true, "lua_call"),
            ("_lua_hook@4", true, "lua_hook"),
            ("@luaV_execute@4", true, "luaV_execute"),
            ("blend@@32", false, "blend"),
            ("?attemptHandoff@@YAHH@Z", false, "attemptHandoff"),
            (
                "?EstablishHandoff@CConsoleHandoff@@QEAAHH@Z",
                false,
                "CConsoleHandoff::EstablishHandoff",
            ),
            (
                "?Wait@?$Waiter@J@Console@Microsoft@@QEAAHJ@Z",
                false,
                "Microsoft::Console::Waiter<long>::Wait",
            ),
            ("??1CConsoleHandoff@@QEAA@XZ", false, "CConsoleHandoff::~CConsoleHandoff"),
            ("?not a name", false, "?not a name"),
            ("bell\x07\x1b[31m", false, "bell\u{fffd}\u{fffd}[31m"),
            ("@", true, "@"),
            ("_", true, "_"),
        ] {
            assert_eq!(undecorate(symbol, x86), name, "{symbol}");
        }
    }

    #[test]
    fn hostile_names_stay_as_they_are() {
        let deep = format!("?x@@3{}H", "PA".repeat(DECORATED_BYTES_MAX));
        assert_eq!(undecorate(&deep, false).len(), deep.len().min(NAME_CHARS_MAX));
    }
}
