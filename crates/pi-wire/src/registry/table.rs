//! The macro that turns the table into types, so that a command without a row does not exist.

/// From rows `Payload = "name" -> Data: effect class role, source;` in the sections `server` and `session`
/// makes `Kind`, [`COMMANDS`](super::COMMANDS), the enums of commands and of answers, and the functions that go through
/// all of them.
macro_rules! registry {
    (@source document $section:literal) => { Source::Document { section: $section } };
    (@source addition $feature:ident) => { Source::Addition { feature: Feature::$feature, since: "0.1.0" } };
    (
        $( $section:ident as $commands:ident, $target:ident, $commands_doc:literal {
            $(
                $payload:ident = $name:literal $(-> $data:ty)?:
                    $effect:ident $class:ident $role:ident, $source:ident $place:tt;
            )+
        } )+
    ) => {
        /// Which command; one for each row of the registry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($( #[doc = concat!("`", $name, "`")] $payload, )+)+
        }

        /// The registry, in the order of [`Kind`].
        pub const COMMANDS: &[Spec] = &[
            $($( Spec {
                kind: Kind::$payload,
                name: $name,
                summary: command::$payload::SUMMARY,
                target: Target::$target,
                effect: Effect::$effect,
                class: Class::$class,
                role: Role::$role,
                source: registry!(@source $source $place),
            }, )+)+
        ];

        impl Kind {
            /// The command with this `type`.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($( $name => Some(Self::$payload), )+)+
                    _ => None,
                }
            }

            /// Whether a success has `data`; its type is the variant of [`Data`] of the same name.
            pub const fn has_data(self) -> bool {
                match self {
                    $($( Self::$payload => registry!(@has_data $($data)?), )+)+
                }
            }

            /// Reads its payload; `None` if a field was refused and reported. The session is read by the caller.
            pub(crate) fn read(self, session_id: Option<SessionId>, fields: &mut Fields<'_>) -> Option<Command> {
                match self {
                    $($( Self::$payload => {
                        let payload = command::$payload::read(fields)?;
                        registry!(@command $target, session_id, $commands::$payload(payload))
                    } )+)+
                }
            }

            /// Shows the fields of its payload.
            pub(crate) fn describe(self, visitor: &mut impl MemberVisitor) {
                match self {
                    $($( Self::$payload => command::$payload::describe(visitor), )+)+
                }
            }

            /// What the fields of its payload have to do with each other.
            pub(crate) fn relations(self) -> Value {
                match self {
                    $($( Self::$payload => command::$payload::relations(), )+)+
                }
            }

            /// The schema of its `data`; `None` if it has none.
            pub(crate) fn data_schema(self, generator: &mut SchemaGenerator) -> Option<Schema> {
                match self {
                    $($( Self::$payload => registry!(@schema generator $($data)?), )+)+
                }
            }

            /// The TypeScript name of its `data`; `None` if it has none.
            pub(crate) fn data_typescript(self, types: &mut Types) -> Option<String> {
                match self {
                    $($( Self::$payload => registry!(@typescript types $($data)?), )+)+
                }
            }
        }

        $(
            #[doc = $commands_doc]
            #[derive(Debug, Clone, PartialEq)]
            pub enum $commands {
                $( $payload(command::$payload), )+
            }

            impl $commands {
                pub const fn kind(&self) -> Kind {
                    match self {
                        $( Self::$payload(_) => Kind::$payload, )+
                    }
                }

                pub(crate) fn write(&self, members: &mut Map<String, Value>) {
                    match self {
                        $( Self::$payload(payload) => payload.write(members), )+
                    }
                }
            }
        )+

        /// The `data` of a successful answer; commands without any have no variant.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Data {
            $($($( $payload($data), )?)+)+
        }

        impl Data {
            pub const fn kind(&self) -> Kind {
                match self {
                    $($($( Self::$payload(_) => registry!(@first Kind::$payload, $data), )?)+)+
                }
            }

            /// Reads the `data` of an answer to `kind`.
            pub(crate) fn read(kind: Kind, data: Option<Value>) -> Result<Option<Self>, serde_json::Error> {
                match kind {
                    $($( Kind::$payload => registry!(@data data $payload $($data)?), )+)+
                }
            }
        }
    };
    (@command Server, $session_id:ident, $command:expr) => { Some(Command::Server($command)) };
    (@command Session, $session_id:ident, $command:expr) => { Some(Command::Session($session_id?, $command)) };
    (@has_data) => { false };
    (@has_data $data:ty) => { true };
    (@schema $generator:ident) => { None };
    (@schema $generator:ident $data:ty) => { Some($generator.subschema_for::<$data>()) };
    (@typescript $types:ident) => { None };
    (@typescript $types:ident $data:ty) => { Some($types.name::<$data>()) };
    (@data $value:ident $payload:ident) => {
        match $value {
            None => Ok(None),
            Some(_) => Err(serde::de::Error::custom("this command answers without data")),
        }
    };
    (@data $value:ident $payload:ident $data:ty) => {
        match $value {
            None => Err(serde::de::Error::missing_field("data")),
            Some(value) => serde_json::from_value::<$data>(value).map(|data| Some(Self::$payload(data))),
        }
    };
    (@first $first:expr, $rest:ty) => { $first };
}
