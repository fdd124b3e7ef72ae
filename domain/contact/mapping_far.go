package contact

// headersFar are the usual headers of files in Swedish, Danish, Norwegian, Finnish, Czech, Slovak, Hungarian, Romanian,
// Croatian, Slovenian, Bulgarian, Greek, Hebrew, Japanese, Korean, Indonesian, Malay, Vietnamese, Thai, Hindi, Bengali,
// Urdu and Persian, where no other language has them.
var headersFar = []headerNames{
	{known{FieldPhone, rankMobile}, `mobiltlf|mobil tlf|mobil nummer|mobilt nummer|matkapuhelin|
		matkapuhelinnumero|kännykkä|mobilní telefon|mobilní číslo|číslo mobilu|mobilný telefón|mobilné číslo|mobilszám|
		mobiltelefonszám|mobil szám|telefon mobilní|mobitel|broj mobitela|мобилен|мобилен телефон|
		κινητό|κινητό τηλέφωνο|αριθμός κινητού|τηλ κινητό|נייד|טלפון נייד|סלולרי|טלפון סלולרי|מספר נייד|פלאפון|וואטסאפ|
		携帯|携帯電話|携帯番号|携帯電話番号|휴대폰|휴대전화|핸드폰|휴대폰 번호|휴대전화 번호|핸드폰 번호|휴대폰번호|
		휴대전화번호|핸드폰번호|no hp|nomor hp|handphone|no handphone|nomor handphone|no wa|nomor wa|nomor whatsapp|ponsel|
		no ponsel|nomor ponsel|telefon bimbit|no telefon bimbit|di động|số di động|điện thoại di động|
		มือถือ|เบอร์มือถือ|โทรศัพท์มือถือ`},
	{known{FieldPhone, rankAny}, `tlf|tlf nr|puhelin|puhelinnumero|puh|telefonní číslo|číslo telefonu|tel číslo|
		telefónne číslo|telefonszám|telefon szám|număr de telefon|număr telefon|nr de telefon|nr telefon|broj telefona|
		telefonska številka|телефонен номер|τηλέφωνο|αριθμός τηλεφώνου|τηλ|טלפון|מספר טלפון|電話番号|전화번호|전화|연락처|
		no telepon|nomor telepon|telepon|no telp|telp|no telefon|nombor telefon|số điện thoại|điện thoại|so dien thoai|
		dien thoai|sđt|sdt|โทรศัพท์|เบอร์โทร|เบอร์โทรศัพท์|หมายเลขโทรศัพท์`},
	{known{FieldPhone, rankHome}, `hemtelefon|hjemmetelefon|kotipuhelin|fastnet|fasttelefon|pevná linka|telefon fix|
		fiksni telefon|σταθερό|σταθερό τηλέφωνο|טלפון בבית|固定電話|自宅電話|집전화|telepon rumah|điện thoại bàn|điện thoại nhà`},
	{known{FieldPhone, rankWork}, `arbetstelefon|arbejdstelefon|arbeidstelefon|työpuhelin|telefon do práce|
		munkahelyi telefon|τηλέφωνο εργασίας|טלפון בעבודה|会社電話|勤務先電話|직장전화|telepon kantor|điện thoại cơ quan`},
	{known{FieldEmail, rankMobile}, `e post|epost|e postadress|epostadress|e postadresse|epostadresse|e post adresse|mejl|
		mejladress|sähköposti|sähköpostiosoite|e mailová adresa|emailová adresa|e mail cím|email cím|adresă de email|
		adresă email|elektronska pošta|имейл адрес|διεύθυνση email|
		ηλεκτρονικό ταχυδρομείο|διεύθυνση ηλεκτρονικού ταχυδρομείου|אימייל|דוא ל|דואל|מייל|כתובת אימייל|דואר אלקטרוני|
		メール|メールアドレス|eメール|電子メール|이메일|메일|이메일 주소|전자우편|surel|alamat email|e mel|emel|
		thư điện tử|địa chỉ email|อีเมล`},
	{known{FieldName, 0}, `namn|fullständigt namn|för och efternamn|kundnamn|navn|fulde navn|fullt navn|kundenavn|nimi|
		koko nimi|jméno a příjmení|příjmení a jméno|celé jméno|meno a priezvisko|név|teljes név|ügyfél neve|
		nume complet|nume și prenume|nume prenume|ime i prezime|ime in priimek|име и фамилия|ονοματεπώνυμο|
		שם|שם מלא|שם לקוח|氏名|お名前|名前|顧客名|이름|성명|고객명|nama|nama lengkap|nama pelanggan|nama penuh|
		họ và tên|họ tên|tên khách hàng|ชื่อ นามสกุล|ชื่อและนามสกุล`},
	{known{FieldGiven, 0}, `förnamn|fornavn|etunimi|jméno|křestní jméno|meno|krstné meno|keresztnév|utónév|prenume|ime|
		име|όνομα|שם פרטי|nama depan|ชื่อ`},
	{known{FieldFamily, 0}, `efternamn|efternavn|etternavn|sukunimi|příjmení|priezvisko|vezetéknév|családnév|nume|
		nume de familie|prezime|priimek|επώνυμο|επίθετο|שם משפחה|苗字|성|nama belakang|nama keluarga|นามสกุล`},
	{known{FieldLocale, rankGuessed}, `språk|sprog|kieli|jazyk|nyelv|limbă|jezik|език|γλώσσα|שפה|言語|언어|bahasa|
		ngôn ngữ|ภาษา`},
	{known{FieldPhone, rankMobile}, `मोबाइल|मोबाइल नंबर|मोबाइल नं|موبایل|شماره موبایل|تلفن همراه|شماره همراه|موبائل نمبر|
		মোবাইল|মোবাইল নম্বর|মোবাইল নাম্বার`},
	{known{FieldPhone, rankAny}, `फोन|फोन नंबर|टेलीफोन|दूरभाष|تلفن|شماره تلفن|فون|فون نمبر|ফোন|ফোন নম্বর|ফোন নাম্বার`},
	{known{FieldEmail, rankMobile}, `ईमेल|ई मेल|ईमेल पता|ایمیل|آدرس ایمیل|ای میل|ইমেইল|ইমেল|ই মেইল`},
	{known{FieldName, 0}, `नाम|पूरा नाम|نام|نام و نام خانوادگی|نام کامل|নাম|পুরো নাম`},
	{known{FieldGiven, 0}, `प्रथम नाम|نام کوچک`},
	{known{FieldFamily, 0}, `उपनाम|نام خانوادگی`},
}
